// Keeps a page up to date: when the server says that it has changed, fetches it again and changes only what differs, so
// that focus, scrolling and opened details stay.
'use strict';
(() => {
  const { events } = document.currentScript.dataset;
  const status = document.getElementById('status');
  const PARTS = ['body > header', 'body > main'];
  const RETRY_MS = 2000;
  const NEAR = 80; // px
  let isFetching = false;
  let isOutdated = false;
  let isOver = false;

  const isElement = (node) => node.nodeType === Node.ELEMENT_NODE;

  function fresh(node) {
    const copy = document.importNode(node, true);
    if (isElement(copy) && copy.nodeName === 'TR') copy.classList.add('new');
    return copy;
  }

  function attributes(from, to) {
    for (const { name } of [...from.attributes]) {
      // The reader opens and closes details.
      if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) {
      if (from.getAttribute(name) !== value && name !== 'open') from.setAttribute(name, value);
    }
  }

  // Makes the children of a node those of another one. Children with an id are the same if their ids are.
  function children(from, to) {
    const byId = new Map([...from.childNodes].filter((node) => node.id).map((node) => [node.id, node]));
    const wanted = new Set([...to.childNodes].map((node) => node.id));
    let at = from.firstChild;
    const drop = () => {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    };
    for (const next of to.childNodes) {
      while (at && at.id && !wanted.has(at.id)) drop();
      const known = next.id && byId.get(next.id);
      if (known) {
        if (known === at) at = at.nextSibling;
        else from.insertBefore(known, at);
        change(known, next);
      } else if (at && !at.id && !next.id && at.nodeName === next.nodeName) {
        const same = at;
        at = at.nextSibling;
        change(same, next);
      } else {
        from.insertBefore(fresh(next), at);
      }
    }
    while (at) drop();
  }

  function change(from, to) {
    if (from.isEqualNode(to)) return;
    if (!isElement(from)) {
      from.nodeValue = to.nodeValue;
      return;
    }
    attributes(from, to);
    children(from, to);
  }

  // What is at its end stays at its end.
  function atEnds() {
    const page = document.scrollingElement;
    const isAtBottom = page.scrollTop > 0 && page.scrollHeight - page.scrollTop - page.clientHeight < NEAR;
    const wide = [...document.querySelectorAll('.scroll')];
    const atRight = wide.filter((box) => box.scrollLeft > 0 && box.scrollWidth - box.scrollLeft - box.clientWidth < NEAR);
    return () => {
      const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : 'smooth';
      for (const box of atRight) box.scrollTo({ left: box.scrollWidth, behavior });
      if (isAtBottom) page.scrollTo({ top: page.scrollHeight, behavior });
    };
  }

  function say(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  function show(page) {
    const toEnds = atEnds();
    for (const part of PARTS) {
      const [from, to] = [document.querySelector(part), page.querySelector(part)];
      if (from && to) change(from, to);
    }
    const now = page.getElementById('status');
    if (now) {
      status.dataset.version = now.dataset.version;
      say(now.textContent);
    }
    toEnds();
  }

  async function update() {
    isOutdated = true;
    if (isFetching) return;
    isFetching = true;
    while (isOutdated) {
      isOutdated = false;
      try {
        const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
        // The session has ended.
        if (answer.redirected) return location.assign(answer.url);
        if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      } catch {
        // The events end, too, and the page is fetched again with the next ones.
      }
    }
    isFetching = false;
  }

  function follow() {
    const source = new EventSource(events);
    source.addEventListener('changed', ({ data }) => {
      if (data !== status.dataset.version) update();
    });
    source.addEventListener('ended', () => {
      isOver = true;
      source.close();
      // The call may have been resumed meanwhile. A page that does not follow has no version.
      update().then(() => {
        if (!status.dataset.version) return;
        isOver = false;
        setTimeout(follow, RETRY_MS);
      });
    });
    source.addEventListener('error', () => {
      source.close();
      if (isOver) return;
      say('The connection is lost. This page tries again.');
      // The page shows whether the session is over.
      setTimeout(() => update().then(follow), RETRY_MS);
    });
  }

  addEventListener('pagehide', () => {
    isOver = true;
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload();
  });
  follow();
})();
