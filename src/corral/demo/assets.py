"""The stylesheet and the script of the shop, as text: there are no files to package."""

STYLE_CSS = """\
:root { --ink: #22261f; --paper: #fbfaf6; --line: #dcd8cb; --accent: #7a4b1e; --soft: #6b7064; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper); font: 17px/1.6 Georgia, serif; }
header, main, footer { max-width: 46rem; margin: 0 auto; padding: 1rem 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: 1.25rem; align-items: baseline; }
header { border-bottom: 1px solid var(--line); }
header strong { font-size: 1.2rem; }
footer { color: var(--soft); font-size: .85rem; border-top: 1px solid var(--line); margin-top: 3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1.5rem 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
a { color: var(--accent); }
code { font-size: .85em; background: #f0ece0; padding: .1em .35em; border-radius: 3px; }
table { border-collapse: collapse; width: 100%; }
td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.meta, .description { color: var(--soft); }
.tags { list-style: none; display: flex; gap: .5rem; padding: 0; }
.tags li { background: #efe6d6; border-radius: 1rem; padding: .05rem .7rem; font-size: .85rem; }
.pager { display: flex; justify-content: space-between; gap: 1rem; margin-top: 2rem; }
.error { color: #9b1c1c; }
form { display: grid; gap: .75rem; max-width: 20rem; }
input, button { font: inherit; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: 4px; }
button { background: var(--accent); color: #fff; border-color: var(--accent); cursor: pointer; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; background: #fff; }
"""

SHOP_JS = """\
"use strict";
(() => {
  const root = document.getElementById("root");

  const element = (tag, className, text, attributes = {}) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const money = (price) => `${price.amount} ${price.currency}`;
  const load = async (path) => {
    const response = await fetch(path, { headers: { Accept: "application/json" } });
    if (!response.ok) throw new Error(`The shop answered ${response.status}`);
    return response.json();
  };

  const card = (product) => {
    const node = element("article", "card product", undefined, { "data-product-id": product.id });
    node.append(
      element("a", "name", product.name, { href: `/shop/${product.id}` }),
      element("p", "price", money(product.price)),
    );
    return node;
  };

  const showList = async () => {
    const page = new URLSearchParams(location.search).get("page") || "1";
    const list = await load(`/api/products?page=${encodeURIComponent(page)}`);
    const grid = element("section", "grid products");
    grid.append(...list.items.map(card));
    const pager = element("nav", "pager");
    const following = { rel: "next", href: `/shop?page=${list.page + 1}` };
    if (list.next) pager.append(element("a", "next", "More", following));
    root.replaceChildren(element("h1", "", "Shop"), grid, pager);
  };

  const showProduct = async (id) => {
    const product = await load(`/api/products/${encodeURIComponent(id)}`);
    document.title = product.name;
    root.replaceChildren(
      element("h1", "name", product.name),
      element("p", "price", money(product.price)),
      element("p", "stock", product.stock > 0 ? `${product.stock} in stock` : "Sold out"),
      element("p", "rating", `Rated ${product.rating} of 5`),
      element("p", "description", product.description),
    );
  };

  const id = location.pathname.split("/")[2];
  (id ? showProduct(id) : showList()).catch((problem) => {
    root.replaceChildren(element("p", "error", problem.message));
  });
})();
"""
