// Buttons that copy code, the button for the colours, and the list of sections. The pages can be read without them.

for (const block of document.querySelectorAll(".code[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = (await copy(block.querySelector("pre"))) ? "Copied" : "Press Ctrl-C";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  block.append(button);
}

// copy puts the text of an element into the clipboard. Where the browser does not let it, it selects the text.
async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent.replace(/\n$/, ""));
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return false;
  }
}

const theme = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.style.colorScheme;
  return chosen ? chosen === "dark" : systemDark.matches;
}

function nameTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
}

theme.addEventListener("click", () => {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.style.colorScheme = chosen;
  try {
    localStorage.setItem("theme", chosen);
  } catch {
    // Storage is off: the next page has the colours of the system.
  }
  nameTheme();
});
systemDark.addEventListener("change", nameTheme);
nameTheme();

// Where the sections are beside the text, they are open, and the one that is read is marked.
const toc = document.getElementById("toc");
if (toc) {
  const beside = matchMedia("(width >= 76rem)");
  const open = () => (toc.open = beside.matches);
  beside.addEventListener("change", open);
  open();
  const links = new Map([...toc.querySelectorAll("a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const headings = [...document.querySelectorAll("article h2, article h3")].filter((heading) => links.has(heading.id));
  const mark = () => {
    const read = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0];
    for (const [id, link] of links) link.classList.toggle("read", id === read?.id);
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

document.querySelector(".book [aria-current]")?.scrollIntoView({ block: "nearest" });
