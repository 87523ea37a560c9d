// Runs before the page is drawn, so that it does not flash in the other colours.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.style.colorScheme = theme;
} catch {
  // Storage is off: the colours are those of the system.
}
document.documentElement.classList.add("js");
