// Looks at pages in Chromium: light and dark, wide and narrow. The console stays empty, axe-core finds no serious
// fault, and the keyboard reaches every link.
//
//   NODE_PATH=... node check.js CHROMIUM PAGE...

const { chromium } = require('playwright-core');
const axe = require('axe-core');
const { tabThrough } = require('./keyboard');

const [executablePath, ...pages] = process.argv.slice(2);
const faults = [];

async function look(browser, page, colorScheme, width) {
  // axe-core is a script, which the policy of the page refuses.
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
  const tab = await context.newPage();
  const fault = (text) => faults.push(`${page}, ${colorScheme}, ${width}: ${text}`);
  tab.on('console', (message) => fault(`the console says ${message.text()}`));
  tab.on('pageerror', (error) => fault(`${error}`));
  tab.on('request', (request) => request.url().startsWith('file:') || fault(`it loads ${request.url()}`));
  await tab.goto(`file://${page}`);
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (overflow > 0) fault(`it is ${overflow} px too wide`);
  await tab.addScriptTag({ content: axe.source });
  const { violations } = await tab.evaluate(() => axe.run());
  for (const { id, impact, nodes } of violations) {
    if (impact === 'serious' || impact === 'critical') fault(`${id} at ${nodes[0].target}`);
  }
  await context.close();
}

async function goThrough(browser, page) {
  const tab = await browser.newPage();
  await tab.goto(`file://${page}`);
  const { all, reached } = await tabThrough(tab);
  if (reached !== all) faults.push(`${page}: the keyboard reaches ${reached} of ${all} places`);
  await tab.close();
  return all;
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  for (const page of pages) {
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1200, 400]) await look(browser, page, colorScheme, width);
    }
    console.log(`looked at ${page}: ${await goThrough(browser, page)} places`);
  }
  await browser.close();
  faults.forEach((fault) => console.error(fault));
  process.exit(faults.length === 0 ? 0 : 1);
})();
