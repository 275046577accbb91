// Twenty steps of a browser's user with the TypeScript client, which most hosts are built on, and one that is cancelled.
// Arguments: the pages' address, then "http", an endpoint and a token, or "stdio" and a command.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [at, way, ...rest] = process.argv.slice(2);
const transport = way === 'http'
	? new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: 'Bearer ' + rest[1] } } })
	: new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: 'inherit' });
const client = new Client({ name: 'twenty', version: '1' });
await client.connect(transport);
const listed = new Map((await client.listTools()).tools.map((t) => [t.name, t]));
let step = 0;
const run = async (name, want, args = {}) => {
	step++;
	if (!listed.has(name)) throw new Error(`step ${step}: ${name} is not listed`);
	const r = await client.callTool({ name, arguments: args }, undefined, { timeout: 120000 });
	const text = r.content.map((c) => c.text || '').join('\n');
	if (r.isError || !text.includes(want)) throw new Error(`step ${step}, ${name}: want ${JSON.stringify(want)} in\n${text}`);
	return r;
};
await run('session_open', 'Shop', { url: at });
const read = await run('read', 'button Greet');
const ref = (role, name) => new RegExp(`(e[0-9]+) ${role} ${name}`).exec(read.content.map((c) => c.text || '').join('\n'))[1];
// From here on by refs and by what the schemas list alone: the session is the only one.
await run('type', '', { ref: ref('textbox', 'Name'), value: 'Ada' });
await run('click', 'Hello Ada', { ref: ref('button', 'Greet'), changes: true });
await run('select', '', { ref: ref('combobox', 'Colour'), option: 'Blue' });
await run('read', '= "Blue"');
await run('click', '', { ref: ref('checkbox', 'Agree') });
await run('find', 'checked', { text: 'agree' });
await run('click', 'dialog', { text: 'Ask' });
await run('dialog', '', { accept: true });
await run('find', 'yes', { text: 'yes' });
await run('click', '', { selector: 'role=button[name="Later"]' });
await run('wait_for', '', { text: 'late' });
await run('fill_form', '1 of 1', { fields: [{ field: 'Name', value: 'Grace' }] });
await run('click', 'About', { text: 'Popup' });
await run('tabs', 't2');
await run('tabs', '', { action: 'close', tab: 't2' });
await run('navigate', 'About', { url: at + '/about' });
await run('back', 'Shop');
const shot = await run('screenshot', 'x');
if (shot.content.filter((c) => c.type === 'image' && c.data.length > 1000).length !== 1) throw new Error('no picture');
await run('network', '/about');

const stop = new AbortController();
setTimeout(() => stop.abort('enough'), 500);
let cancelled = false;
try {
	await client.callTool({ name: 'wait_for', arguments: { text: 'never there', timeoutMs: 60000 } }, undefined, { signal: stop.signal });
} catch { cancelled = true; }
if (!cancelled) throw new Error('the call was not cancelled');
const began = Date.now();
await run('read', 'button Greet');
if (Date.now() - began > 20000) throw new Error('the next call waited for the cancelled one');
await run('session_close', '');
await client.close();
console.log(`${step} steps`);
