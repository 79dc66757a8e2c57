// What an agent does with a server, through the official TypeScript clients: `walk.mjs SDK ERA TRANSPORT JSON`.
// SDK: `v1` (@modelcontextprotocol/sdk, handshake only) or `v2` (@modelcontextprotocol/client).
// JSON: {url | command, args, cwd, env; edited: a file whose tool description is edited; upstream: where hung calls are counted}.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";

const [sdk, era, transport, json] = process.argv.slice(2);
const target = JSON.parse(json);
const said = [];
const told = (what) => said.push(what);

function deferred() {
  let resolve;
  const promise = new Promise((done) => { resolve = done; });
  return { promise, resolve };
}

async function within(seconds, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function connected(listChanged, updated) {
  const info = { name: `walk-${sdk}`, version: "1.0.0" };
  let client;
  let Http;
  let Stdio;
  if (sdk === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    ({ StreamableHTTPClientTransport: Http } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js"));
    ({ StdioClientTransport: Stdio } = await import("@modelcontextprotocol/sdk/client/stdio.js"));
    const kinds = await import("@modelcontextprotocol/sdk/types.js");
    client = new Client(info);
    client.setNotificationHandler(kinds.ToolListChangedNotificationSchema, listChanged);
    client.setNotificationHandler(kinds.ResourceUpdatedNotificationSchema, updated);
  } else {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    ({ StdioClientTransport: Stdio } = await import("@modelcontextprotocol/client/stdio"));
    Http = StreamableHTTPClientTransport;
    const mode = era === "stateless" ? { pin: "2026-07-28" } : "legacy";
    client = new Client(info, {
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: listChanged } },
    });
    client.setNotificationHandler("notifications/resources/updated", updated);
  }
  const way = transport === "http"
    ? new Http(new URL(target.url))
    : new Stdio({ command: target.command, args: target.args, cwd: target.cwd, env: { ...process.env, ...target.env } });
  await client.connect(way);
  return client;
}

const changed = deferred();
const updated = deferred();
const updates = [];
const client = await connected(() => changed.resolve(), ({ params }) => { updates.push(params.uri); updated.resolve(); });
const call = (params, options) => (sdk === "v1" ? client.callTool(params, undefined, options) : client.callTool(params, options));

// list, in pages
const tools = [];
let cursor;
let pages = 0;
do {
  const page = await client.listTools(cursor ? { cursor } : undefined, { cacheMode: "bypass" });
  tools.push(...page.tools);
  cursor = page.nextCursor;
  pages += 1;
} while (cursor);
const names = new Set(tools.map((tool) => tool.name));
assert.equal(names.size, tools.length, "names are unique");
assert.ok(names.has("list_numbers") && names.has("number_tool_119"), "every tool is listed");
told(`tools/list: ${tools.length} tools in ${pages} page(s)`);

// call, and go on where an answer was cut
const first = await call({ name: "list_numbers", arguments: { parity: "even" } });
assert.ok(!first.isError, JSON.stringify(first));
assert.equal(first.structuredContent.row_count, 50);
assert.deepEqual(JSON.parse(first.content[0].text), first.structuredContent);
const second = await call({ name: "list_numbers", arguments: { cursor: first.structuredContent.next_cursor } });
assert.equal(second.structuredContent.rows[0].n, 100);
told("tools/call: 50 rows, and the 51st by its cursor");

// the demo: one SQL over a REST API, a database and a CSV
const joined = await call({ name: "revenue_by_region", arguments: { since: "2026-03-01", countries: ["NO", "SE"] } });
assert.deepEqual(joined.structuredContent.rows.map((row) => row.region), ["Nordics"]);
told("tools/call: the demo's join of three sources");

// what is wrong with a call is a result that says it
const wrong = await call({ name: "list_numbers", arguments: { parity: "green" } });
assert.equal(wrong.isError, true);
assert.match(wrong.content[0].text, /VALIDATION_INVALID_PARAMS/);
await assert.rejects(call({ name: "no_such_tool", arguments: {} }), (error) => error.code === -32602);
told("tools/call: wrong argument is isError, unknown tool is -32602");

// read the whole result, and what else there is
const link = first.content.find((block) => block.type === "resource_link");
const whole = await client.readResource({ uri: link.uri }, { cacheMode: "bypass" });
assert.equal(JSON.parse(whole.contents[0].text).rows.length, 60);
const resources = await client.listResources();
assert.ok(resources.resources.some((one) => one.uri === "elliot://docs/principles"));
const principles = await client.readResource({ uri: "elliot://docs/principles" });
assert.ok(principles.contents[0].text.length > 100);
assert.ok((await client.listResourceTemplates()).resourceTemplates.length > 0);
told("resources: list, templates, read, the whole result");

// prompts and completion
const prompts = await client.listPrompts();
assert.ok(prompts.prompts.some((prompt) => prompt.name === "getting_started"));
const prompt = await client.getPrompt({ name: "explain_numbers", arguments: { parity: "odd" } });
assert.match(prompt.messages[0].content.text, /odd/);
const completed = await client.complete({ ref: { type: "ref/prompt", name: "explain_numbers" }, argument: { name: "parity", value: "e" } });
assert.deepEqual(completed.completion.values, ["even"]);
told("prompts: list, get, complete");

// progress
const progress = [];
await call({ name: "number_pages", arguments: {} }, { onprogress: (report) => progress.push(report.progress) });
assert.ok(progress.length > 0, "progress was reported");
assert.deepEqual([...progress].sort((a, b) => a - b), progress, "progress grows");
told(`progress: ${progress.length} reports`);

// cancel, down to the upstream
const abort = new AbortController();
const hung = call({ name: "wait_for_upstream", arguments: {} }, { signal: abort.signal });
const counted = async (field) => (await (await fetch(`${target.upstream}/counted`)).json())[field];
const until = async (field, number) => { while ((await counted(field)) < number) await new Promise((done) => setTimeout(done, 20)); };
const before = await counted("released");
await within(10, until("hung", (await counted("released")) + 1), "the upstream is asked");
abort.abort("the person changed their mind");
await assert.rejects(hung);
await within(5, until("released", before + 1), "the upstream is let go");
told("cancel: the upstream's request ended");

// a changed file is told to who subscribed to what is read of it, and to all; and served
const schema = "jackfield://connectors/numbers/schema";
const asked = { uri: schema };
const was = (await client.readResource(asked, { cacheMode: "bypass" })).contents[0].text;
const stream = era === "stateless" ? await client.listen({ resourceSubscriptions: [schema] }) : await client.subscribeResource(asked);
const edited = await readFile(target.edited, "utf8");
await writeFile(target.edited, edited.replace("Return a number", "Return one number"));
await within(20, changed.promise, "tools/list_changed");
const after = await client.listTools(undefined, { cacheMode: "bypass" });
assert.match(after.tools.find((tool) => tool.name === "number_tool_0").description, /^Return one number/);
told("list_changed: told, and the new description listed");
await within(20, updated.promise, "resources/updated");
assert.deepEqual(updates, [schema], "what was subscribed to, once");
assert.notEqual((await client.readResource(asked, { cacheMode: "bypass" })).contents[0].text, was);
if (era === "stateless") await stream.close();
else await client.unsubscribeResource(asked);
await writeFile(target.edited, edited);
told("subscribe: told, and the new text read");

await client.close();
console.log(said.map((line) => `  ${line}`).join("\n"));
