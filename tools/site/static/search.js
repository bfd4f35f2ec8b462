// Searches the words of all pages: search.json has a title, an address and a text for each.
const field = document.getElementById("search");
const results = document.getElementById("results");
const root = new URL(".", document.currentScript?.src ?? document.querySelector("script[src$='search.js']").src);
let pages;

async function search() {
  pages ??= await (await fetch(new URL("search.json", root))).json();
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : pages
    .map((page) => [words.every((w) => page.search.includes(w)) * (1 + 9 * words.every((w) => page.title.toLowerCase().includes(w))), page])
    .filter(([score]) => score > 0)
    .sort(([a], [b]) => b - a)
    .slice(0, 20);
  results.replaceChildren(...found.map(([, page]) => {
    const link = document.createElement("a");
    link.href = new URL(page.url, root);
    link.textContent = page.title;
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  results.hidden = found.length === 0;
}

field.addEventListener("input", search);
field.form.addEventListener("submit", (event) => event.preventDefault());
