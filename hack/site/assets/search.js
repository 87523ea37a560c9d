// Search in all sections of the book. `make site` writes the index, which is loaded when somebody first searches. It is a script that
// calls bookSections, because pages that are opened from files cannot fetch.

// The directory of the site: every page has a link to its first page.
const root = new URL(".", document.querySelector("header .home").href);
const input = document.getElementById("search");
const list = document.getElementById("results");
const shown = 12;
let sections;

window.bookSections = (rows) => {
  sections = rows.map(([url, id, page, heading, text]) => ({
    url, id, page, heading, text,
    lower: { page: page.toLowerCase(), heading: heading.toLowerCase(), text: text.toLowerCase() },
    // Users of the book look for what they do, and seldom for how it was built.
    weight: /^(contributing|proof)\//.test(url) ? 0.4 : 1,
  }));
  search();
};

function load() {
  if (document.getElementById("search-index")) return;
  const index = document.createElement("script");
  index.id = "search-index";
  index.src = new URL("search-index.js", root);
  document.head.append(index);
}

// words returns the words of a query. "pods" finds "pod", too.
function words(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean).map((word) => (word.length > 3 ? word.replace(/([^s])s$/, "$1") : word));
}

// count returns how often a word is in a text, and at the beginning of how many words.
function count(text, word) {
  let all = 0, starts = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    all++;
    if (at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1])) starts++;
  }
  return { all, starts };
}

// score says how well a section answers a query: 0 if one of the words is not there.
function score({ lower, weight }, query, wanted) {
  let points = 0;
  for (const word of wanted) {
    const heading = count(lower.heading, word), page = count(lower.page, word), text = count(lower.text, word);
    if (!heading.all && !page.all && !text.all) return 0;
    points += (heading.starts ? 40 : heading.all ? 20 : 0) + (page.starts ? 15 : page.all ? 5 : 0);
    points += Math.min(text.starts, 5) * 3 + Math.min(text.all, 5);
  }
  if (lower.heading === query) points += 100;
  if (wanted.length > 1 && lower.text.includes(query)) points += 20;
  return points * weight;
}

// find returns the best sections. If none has all words, those that have the longest are found.
function find(query) {
  const wanted = words(query);
  const rank = (some) =>
    sections.map((section) => ({ section, points: score(section, query, some) })).filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points).slice(0, shown);
  const best = rank(wanted);
  if (best.length || wanted.length < 2) return best;
  return rank([wanted.reduce((longest, word) => (word.length > longest.length ? word : longest))]);
}

// excerpt returns the part of a text in which the first of the words is.
function excerpt(text, wanted) {
  const lower = text.toLowerCase();
  const found = wanted.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  let from = Math.max(0, (found.length ? Math.min(...found) : 0) - 50);
  if (from > 0) from = text.indexOf(" ", from) + 1;
  if (text.length <= from + 150) return (from > 0 ? "… " : "") + text.slice(from);
  const to = text.lastIndexOf(" ", from + 150);
  return (from > 0 ? "… " : "") + text.slice(from, to > from ? to : from + 150) + " …";
}

// marked appends a text to an element, with the words marked.
function marked(element, text, wanted) {
  const parts = wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  for (const [i, piece] of text.split(new RegExp(`(${parts.join("|")})`, "i")).entries()) {
    if (i % 2) {
      const mark = document.createElement("mark");
      mark.textContent = piece;
      element.append(mark);
    } else {
      element.append(piece);
    }
  }
}

function search() {
  const query = input.value.trim().toLowerCase();
  list.replaceChildren();
  input.removeAttribute("aria-activedescendant");
  const open = query !== "" && sections !== undefined;
  list.hidden = !open;
  input.setAttribute("aria-expanded", open);
  if (!open) return;
  const wanted = words(query);
  for (const [i, { section }] of find(query).entries()) {
    const item = document.createElement("li"), link = document.createElement("a");
    item.id = `result-${i}`;
    item.setAttribute("role", "option");
    const url = new URL(section.url, root);
    // The first heading of a page is its title.
    if (section.heading !== section.page) url.hash = section.id;
    link.href = url;
    link.tabIndex = -1;
    const title = document.createElement("b"), text = document.createElement("span");
    marked(title, section.heading === section.page ? section.page : `${section.page}: ${section.heading}`, wanted);
    marked(text, excerpt(section.text, wanted), wanted);
    link.append(title, text);
    item.append(link);
    list.append(item);
  }
  if (!list.children.length) {
    const item = document.createElement("li");
    item.className = "none";
    item.textContent = "Nothing found";
    list.append(item);
  }
}

// choose moves the choice by some results.
function choose(by) {
  const items = [...list.querySelectorAll("[role=option]")];
  if (!items.length) return;
  const at = items.findIndex((item) => item.classList.contains("chosen"));
  items[at]?.classList.remove("chosen");
  const next = items[(at + by + (at < 0 && by < 0 ? 1 : 0) + items.length) % items.length];
  next.classList.add("chosen");
  next.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", next.id);
}

function close() {
  list.hidden = true;
  input.setAttribute("aria-expanded", false);
}

input.addEventListener("focus", () => {
  load();
  search();
});
input.addEventListener("input", () => {
  load();
  search();
});
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    choose(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    (list.querySelector(".chosen a") ?? list.querySelector("a"))?.click();
  } else if (event.key === "Escape") {
    close();
    input.blur();
  } else {
    return;
  }
  event.preventDefault();
});
list.addEventListener("click", (event) => {
  if (event.target.closest("a")) close();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) close();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});
