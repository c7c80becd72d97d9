// Looks at the pages of `verbale serve` in Chromium while a call runs: they follow it, hostile words stay words, the console
// stays empty, axe-core finds no serious fault, the keyboard reaches everything, and a login is needed where there are tokens.
//
//   NODE_PATH=... node pages.js CHROMIUM VERBALE [DIRECTORY FOR SCREENSHOTS]

const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');
const axe = require('axe-core');
const { tabThrough } = require('./keyboard');

const [executablePath, program, shots] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pages-'));
const HOSTILE = '<img src=x onerror=alert(1)></td><script>alert(2)</script>';
const TOKEN = 'fedcba9876543210';
const faults = [];
const servers = [];
const fault = (text) => faults.push(text);

async function serve(...more) {
  const server = spawn(program, ['serve', '--listen', '127.0.0.1:0', ...more], { stdio: ['ignore', 'pipe', 'ignore'] });
  servers.push(server);
  let out = '';
  for await (const text of server.stdout) {
    out += text;
    if (out.includes('\n')) break;
  }
  return out.trim().replace('listening on ', '');
}

async function tab(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  page.on('console', (message) => {
    const { url } = message.location();
    // A refused token is a failed request, which the browser reports.
    if (!url.endsWith('/login')) fault(`the console of ${page.url()} says ${message.text()} (${url})`);
  });
  page.on('pageerror', (error) => fault(`${page.url()}: ${error}`));
  page.on('dialog', (dialog) => {
    fault(`${page.url()}: words were run as a script`);
    dialog.dismiss();
  });
  page.on('request', (request) => request.url().startsWith(base) || fault(`${page.url()} loads ${request.url()}`));
  return page;
}

// The clean page has its policy, which refuses axe-core. A second tab has none.
async function look(browser, base, address, name, cookies = []) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1200, 400]) {
      const page = await tab(browser, base, { colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
      await page.context().addCookies(cookies);
      await page.goto(base + address);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (overflow > 0) fault(`${address}, ${width}: it is ${overflow} px too wide`);
      await page.addScriptTag({ content: axe.source });
      const { violations } = await page.evaluate(() => axe.run());
      for (const { id, impact, nodes } of violations) {
        if (impact === 'serious' || impact === 'critical') fault(`${address}, ${colorScheme}: ${id} at ${nodes[0].target}`);
      }
      const { all, reached } = await tabThrough(page);
      if (reached !== all) fault(`${address}: the keyboard reaches ${reached} of ${all} places`);
      if (shots) await page.screenshot({ path: path.join(shots, `${name}-${colorScheme}-${width}.png`), fullPage: true });
      await page.context().close();
    }
  }
}

const SOCKET = ({ url, start }) => {
  window.socket = new WebSocket(url);
  window.socket.onopen = () => window.socket.send(JSON.stringify({ type: 'start', ...start }));
  window.socket.onmessage = ({ data }) => {
    const { type, speech, end } = JSON.parse(data);
    if (type === 'reply_ended' && end === 'complete') window.send({ type: 'playback_finished', speech });
  };
  window.send = (message) => window.socket.send(JSON.stringify(message));
};

async function shown(page, text, what) {
  const started = Date.now();
  await page.locator(':is(td, p, h1)', { hasText: text }).first().waitFor({ timeout: 60_000 });
  console.log(`${what} after ${Date.now() - started} ms`);
}

async function follow(browser) {
  const base = await serve('--log', `embedded:${path.join(folder, 'db')}`);
  const list = await tab(browser, base);
  await list.goto(base);
  const caller = await tab(browser, base, { bypassCSP: true });
  await caller.goto(base);
  const url = `${base.replace('http', 'ws')}/v1/calls/browser-1/socket`;
  const start = { greeting: `Good morning. ${HOSTILE}`, system: 'You answer the phone of a ferry.' };
  await caller.evaluate(SOCKET, { url, start });
  await shown(list, 'browser-1', 'the list shows the call');

  const call = await tab(browser, base);
  await list.getByText('browser-1').click();
  await call.goto(list.url());
  if (!call.url().endsWith('/calls/browser-1')) fault(`the link of the list leads to ${call.url()}`);
  const say = (text) => caller.evaluate((text) => window.send({ type: 'caller_said', text }), text);
  await say('Is there a seat on the ten thirty?');
  await shown(call, 'You said: Is there a seat on the ten thirty?', 'the page of the call shows the answer');
  await call.getByRole('link', { name: /^00:/ }).first().focus();
  const focused = () => call.evaluate(() => document.activeElement.getAttribute('href'));
  const before = await focused();
  for (const text of [HOSTILE, 'And what does it cost for two adults?', 'Then two, please.']) {
    await say(text);
    await shown(call, `You said: ${text}`, 'a further answer');
  }
  const after = await focused();
  if (!before || before !== after) fault(`the focus moves from ${before} to ${after}`);
  await call.getByText('everything is stored').waitFor({ timeout: 60_000 });
  const status = () => call.getByRole('status').textContent();
  if (!(await status()).startsWith('Live, ')) fault(`the page of a live call says ${await status()}`);
  if (await call.locator('img, td script').count()) fault('hostile words are elements');
  await look(browser, base, '/', 'list');
  await look(browser, base, '/calls/browser-1', 'call');
  await caller.evaluate(() => window.send({ type: 'close', reason: 'hangup' }));
  await shown(call, 'The call has ended', 'the page of the call shows its end');
  await list.goto(base);
  await list.getByText('hangup').waitFor({ timeout: 60_000 });
  await look(browser, base, '/calls/browser-1', 'ended');
}

async function logIn(browser) {
  const tokens = path.join(folder, 'tokens');
  fs.writeFileSync(tokens, `read ${TOKEN}\n`);
  const base = await serve('--tokens', tokens);
  const page = await tab(browser, base);
  await page.goto(`${base}/?day=2025-10-20`);
  await look(browser, base, '/login', 'login');
  const submit = async (token) => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Log in' }).click();
  };
  await submit('0123456789abcdef');
  await page.getByRole('alert').waitFor();
  await submit(TOKEN);
  await page.getByRole('heading', { name: 'Calls of 2025-10-20' }).waitFor();
  const [cookie] = await page.context().cookies();
  if (!cookie.httpOnly || cookie.sameSite !== 'Strict' || cookie.value.includes(TOKEN)) fault('the cookie is weak');
  await look(browser, base, '/?day=2025-10-20', 'empty', [cookie]);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await page.goto(base);
  if (!page.url().includes('/login')) fault('nobody was logged out');
}

(async () => {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({ executablePath, args });
  try {
    await follow(browser);
    await logIn(browser);
  } catch (error) {
    fault(`${error}`);
  }
  await browser.close();
  servers.forEach((server) => server.kill());
  fs.rmSync(folder, { recursive: true });
  faults.forEach((text) => console.error(text));
  process.exit(faults.length === 0 ? 0 : 1);
})();
