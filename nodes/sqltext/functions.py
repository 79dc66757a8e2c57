"""The functions that a tool's SQL may call, by dialect. What is not listed is refused, so a new one is safe by default.

Left out on purpose: what reads files, settings, catalogs or other sessions, what sleeps, logs, locks or draws from a
sequence, what runs SQL given as text, what sends anything anywhere, and what kills the process or its database by the
depth of its JSON (json_contains, json_structure, VARIANT) or by one number (reservoir_quantile, bitstring_agg).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .tokens import Dialect


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words of the grammar and of types that an opening parenthesis may follow.
WORDS: Final = names("""
    all and any array as asc bernoulli between bigint binary bit blob bool boolean by case cast char character
    check coalesce columns cross cube date datetime dec decimal desc distinct double else end enum escape except
    exclude exists extract filter first float following for from full group grouping groups having hugeint if
    ifnull ilike in inner int int1 int2 int4 int8 integer intersect interval is join json last lateral left like
    limit list map materialized natural not nullif number numeric offset on or order over partition pivot position
    preceding qualify range real recursive replace reservoir right rollup row rows select set sets signed similar
    simple smallint some string struct substring system table tablesample text then time timestamp timestamptz
    tinyint to trim try_cast ubigint union unnest unpivot unsigned using usingsample value values varbinary varchar
    variadic varying when where window with within year
""")

STANDARD: Final = names("""
    abs acos asin atan atan2 avg bit_and bit_length bit_or bit_xor bool_and bool_or ceil ceiling char_length
    character_length chr concat concat_ws corr cos cot count covar_pop covar_samp cume_dist current_date current_time
    current_timestamp date_part date_trunc degrees dense_rank every exp first_value floor greatest lag last_value lead
    least length ln localtime localtimestamp log log10 log2 lower lpad ltrim max md5 min mod now nth_value ntile
    octet_length overlay percent_rank percentile_cont percentile_disc pi power radians rank regexp_replace repeat
    reverse round row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp string_agg strpos substr sum tan
    translate trunc truncate upper var_pop var_samp variance mode regr_avgx regr_avgy regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    """)

DUCKDB: Final = names("""
    acosh add age aggregate ago any_value apply approx_count_distinct approx_quantile approx_top_k arbitrary arg_max
    arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg array_aggr
    array_aggregate array_append array_apply array_cat array_concat array_contains array_cosine_distance
    array_cosine_similarity array_cross_product array_distance array_distinct array_dot_product array_extract
    array_filter array_grade_up array_has array_has_all array_has_any array_indexof array_inner_product
    array_intersect array_length array_negative_dot_product array_negative_inner_product array_pop_back
    array_pop_front array_position array_prepend array_push_back array_push_front array_reduce array_resize
    array_reverse array_reverse_sort array_select array_slice array_sort array_to_json array_to_string
    array_transform array_unique array_value array_where array_zip ascii asinh atanh bar base64 bin bit_count
    bit_position bitstring cardinality cbrt century contains cosh count_if count_star countif
    damerau_levenshtein date_add date_diff date_sub datediff datepart datesub datetrunc day dayname dayofmonth
    dayofweek dayofyear days_in_month decade decode divide editdist3 element_at encode ends_with entropy enum_code
    enum_first enum_last enum_range enum_range_boundary epoch epoch_ms epoch_ns epoch_us equi_width_bins era error
    even factorial favg fdiv first flatten fmod format format_bytes formatreadabledecimalsize formatreadablesize
    from_base64 from_binary from_hex from_json from_json_strict fsum gamma gcd gen_random_uuid generate_series
    generate_subscripts geomean geometric_mean get_bit get_current_time get_current_timestamp grade_up
    greatest_common_divisor group_concat grouping_id hamming hash hex histogram histogram_exact hour instr isfinite
    isinf isnan isodow isoyear jaccard jaro_similarity jaro_winkler_similarity json_array json_array_length
    json_deep_merge json_each json_exists json_extract json_extract_path json_extract_path_text
    json_extract_string json_group_array json_group_object json_keys json_merge_patch
    json_normalize json_object json_pretty json_quote json_transform json_transform_strict json_tree
    json_type json_valid json_value julian kahan_sum kurtosis kurtosis_pop last_day lcase lcm least_common_multiple
    left_grapheme len length_grapheme levenshtein lgamma list_aggr list_aggregate list_any_value list_append
    list_apply list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or
    list_cat list_concat list_contains list_cosine_distance list_cosine_similarity list_count list_distance
    list_distinct list_dot_product list_element list_entropy list_extract list_filter list_first list_grade_up
    list_has list_has_all list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis
    list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
    list_negative_inner_product list_pack list_position list_prepend list_product list_reduce list_resize
    list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
    list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp
    list_where list_zip listagg lttb mad make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
    make_timestamptz map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
    map_extract_value map_from_entries map_keys map_values max_by md5_number mean median microsecond millennium
    millisecond min_by minute mismatches month monthname multiply nanosecond nextafter nfc_normalize
    normalized_interval ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes path_join pow prefix
    printf product quantile quantile_cont quantile_disc quarter random reduce regexp_escape regexp_extract
    regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array regexp_split_to_table
    right_grapheme round_even roundbankers row_to_json second sem set_bit sha1 sha256 signbit sinh
    skewness split split_part starts_with str_split str_split_regex strftime string_split string_split_regex
    string_to_array strip_accents strlen strptime struct_concat struct_contains struct_extract struct_extract_at
    struct_has struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values
    substring_grapheme subtract suffix sum_no_overflow sumkahan switch tanh time_bucket timezone timezone_hour
    timezone_minute to_base to_base64 to_binary to_centuries to_days to_decades to_hex to_hours to_json
    to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks
    to_years today transaction_timestamp try try_strptime typeof pg_typeof ucase unbin unhex unicode union_extract
    union_tag union_value url_decode url_encode uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
    wavg week
    weekday weekofyear weighted_avg xor yearweek
    """)

# What may stand in FROM. `histogram` and `summary` there would read a table that is named in a string.
DUCKDB_TABLES: Final = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})

POSTGRES: Final = names("""
    age any_value array_agg array_append array_cat array_dims array_fill array_length array_lower array_ndims
    array_position array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper
    ascii btrim cardinality cbrt clock_timestamp convert_from convert_to cosh date_bin decode div encode erf erfc
    factorial format gcd gen_random_uuid generate_series generate_subscripts get_bit get_byte grouping initcap
    isempty isfinite json_agg json_array_elements json_array_elements_text json_array_length json_build_array
    json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object json_object_agg
    json_object_keys json_strip_nulls json_to_record json_to_recordset json_typeof json_exists json_query json_value
    jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object
    jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg
    jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array
    jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof
    justify_days justify_hours justify_interval lcm lower_inc lower_inf make_date make_interval make_time
    make_timestamp make_timestamptz min_scale multirange normalize num_nonnulls num_nulls parse_ident phraseto_tsquery
    plainto_tsquery quote_ident quote_literal quote_nullable random range_agg range_intersect_agg range_merge
    regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_split_to_array regexp_split_to_table
    regexp_substr row_to_json scale setweight sha224 sha256 sha384 sha512 similarity sinh split_part sqrt
    starts_with statement_timestamp string_to_array string_to_table strip tanh timezone to_ascii to_char to_date
    to_hex to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector transaction_timestamp trim_array trim_scale
    ts_headline ts_rank ts_rank_cd unistr unnest upper_inc upper_inf websearch_to_tsquery width_bucket
    word_similarity xmlagg xmlconcat xmlelement xmlforest daterange int4range int8range numrange tsrange tstzrange
    inet cidr host masklen network family area center diameter radius
    """)

POSTGRES_TABLES: Final = names("""
    generate_series generate_subscripts unnest json_array_elements json_array_elements_text json_each json_each_text
    json_object_keys json_to_record json_to_recordset jsonb_array_elements jsonb_array_elements_text jsonb_each
    jsonb_each_text jsonb_object_keys jsonb_path_query jsonb_to_record jsonb_to_recordset regexp_matches
    regexp_split_to_table string_to_table json_table
    """)

MYSQL: Final = names("""
    adddate addtime any_value ascii bin bin_to_uuid bit_count conv convert convert_tz crc32 curdate curtime date_add
    date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear elt export_set field find_in_set format
    from_days from_unixtime group_concat hex hour inet_aton inet_ntoa inet6_aton inet6_ntoa insert instr is_ipv4
    is_ipv6 is_uuid isnull json_array json_array_append json_array_insert json_arrayagg json_contains
    json_contains_path json_depth json_extract json_insert json_keys json_length json_merge_patch
    json_merge_preserve json_object json_objectagg json_overlaps json_pretty json_quote json_remove json_replace
    json_schema_valid json_search json_set json_table json_type json_unquote json_valid json_value last_day lcase
    locate make_set makedate maketime microsecond mid minute month monthname oct ord period_add period_diff pow
    quarter quote rand regexp_instr regexp_like regexp_substr sec_to_time second sha sha1 sha2 soundex space std
    str_to_date strcmp subdate substring_index subtime sysdate time_format time_to_sec timediff timestampadd
    timestampdiff to_base64 from_base64 to_days to_seconds ucase unhex unix_timestamp utc_date utc_time utc_timestamp
    uuid uuid_to_bin weight_string week weekday weekofyear yearweek match against st_area st_asgeojson st_astext
    st_contains st_distance st_distance_sphere st_geomfromtext st_within st_x st_y point
    """)

MYSQL_TABLES: Final = frozenset({"json_table"})

FUNCTIONS: Final[Mapping[Dialect, frozenset[str]]] = {
    "duckdb": STANDARD | DUCKDB,
    "postgres": STANDARD | POSTGRES,
    "mysql": STANDARD | MYSQL,
}
TABLE_FUNCTIONS: Final[Mapping[Dialect, frozenset[str]]] = {
    "duckdb": DUCKDB_TABLES,
    "postgres": POSTGRES_TABLES,
    "mysql": MYSQL_TABLES,
}
