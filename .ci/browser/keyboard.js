// How far the keyboard reaches on a page.

const PLACES = 'a, summary, button, input:not([type=hidden], [hidden]), select, [tabindex]';

// Presses Tab until each place that the page has was reached, or all of them could have been: a date has up to four stops.
// Returns how many places there are, and how many were reached.
exports.tabThrough = async (page) => {
  await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
  const all = await page.evaluate((places) => document.querySelectorAll(places).length, PLACES);
  const reached = new Set();
  for (let pressed = 0; reached.size < all && pressed < 4 * all + 4; pressed++) {
    await page.keyboard.press('Tab');
    const at = (places) => [...document.querySelectorAll(places)].indexOf(document.activeElement);
    const place = await page.evaluate(at, PLACES);
    if (place >= 0) reached.add(place);
  }
  return { all, reached: reached.size };
};
