/** The style of all pages. It has no fonts and no images, so it asks for nothing. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fbfbfa, #141517);
  --panel: light-dark(#f2f2ef, #1f2125);
  --ink: light-dark(#1c1d1f, #e8e8e6);
  --quiet: light-dark(#5c5f66, #a5a8b0);
  --rule: light-dark(#dcdcd6, #363940);
  --link: light-dark(#1f5fbf, #7db0ff);
  --found: light-dark(#fff0b8, #5a4a10);
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --side: 15rem;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
.skip, .hidden { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; z-index: 2; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; padding: .6rem 1rem; background: var(--paper); border-bottom: 1px solid var(--rule); }
header a { text-decoration: none; }
header a:hover, .side a:hover, .contents a:hover, .anchor:hover { text-decoration: underline; }
header nav { display: flex; gap: 1rem; }
.name { color: var(--ink); font-weight: 650; }
form { display: flex; gap: .4rem; margin-left: auto; }
input, button { font: inherit; font-size: .9rem; color: inherit; background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: .3rem .6rem; min-width: 0; }
input { width: 14rem; }
button { cursor: pointer; flex: none; }
main { max-width: 50rem; min-width: 0; padding: 1rem; margin: 0 auto; }
.side, .contents { padding: 1rem; font-size: .92rem; line-height: 1.4; }
.side ul, .contents ul { list-style: none; margin: 0 0 1rem; padding: 0; }
.side ul ul { margin: 0; padding-left: .75rem; }
.side li, .contents li { overflow-wrap: anywhere; padding: .2rem 0; }
.side a, .contents a { text-decoration: none; }
.side a[aria-current] { color: var(--ink); font-weight: 650; }
.side h2, .contents h2 { margin: 0 0 .3rem; padding: 0; border: 0; font-size: .8rem; font-weight: 650; color: var(--quiet); }
.side { border-top: 1px solid var(--rule); }
.contents { display: none; }
h1, h2, h3, h4 { line-height: 1.25; overflow-wrap: anywhere; }
h1 { margin: .5rem 0 1rem; font-size: 1.9rem; }
h2 { margin: 2.5rem 0 .8rem; border-bottom: 1px solid var(--rule); padding-bottom: .3rem; font-size: 1.35rem; }
h3 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
h4 { margin: 1rem 0 .3rem; font-size: 1rem; }
.anchor, h3 a { color: inherit; text-decoration: none; }
.method { font: 700 .8rem/1 var(--mono); border: 1px solid currentColor; border-radius: 4px; padding: .15rem .4rem; margin-right: .4rem; }
p { margin: .6rem 0; overflow-wrap: anywhere; }
li { overflow-wrap: anywhere; }
code, .codes { font: .88em/1.45 var(--mono); overflow-wrap: anywhere; }
main :not(pre, h3 a) > code { background: var(--panel); border-radius: 4px; padding: .05em .25em; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 8px; padding: .75rem 1rem; overflow-x: auto; }
pre code { overflow-wrap: normal; }
main img { max-width: 100%; height: auto; background: light-dark(transparent, #fff); border-radius: 6px; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .92rem; line-height: 1.45; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); padding: .4rem .9rem .4rem 0; min-width: 5rem; }
td code { overflow-wrap: normal; }
mark { background: var(--found); color: var(--ink); border-radius: 2px; }
.results { padding-left: 1.5rem; }
.results li { margin: 1rem 0; }
.results p { margin: .2rem 0; color: var(--quiet); }
details { border-left: 2px solid var(--rule); padding-left: .75rem; margin: .5rem 0; }
summary { cursor: pointer; padding: .2rem 0; }
dl { margin: 0; }
dt { margin-top: .6rem; overflow-wrap: anywhere; }
dd { margin: 0 0 0 1rem; }
dt i { font-style: normal; }
dt i, .type, .usual, dt em, .quiet { color: var(--quiet); font-size: .9rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); }
@media (max-width: 40rem) { input { flex: 1; } form { order: 1; width: 100%; } }
@media (min-width: 64rem) {
  html { scroll-padding-top: 4.5rem; }
  header { position: sticky; top: 0; z-index: 1; }
  body { display: grid; grid-template: auto 1fr / var(--side) minmax(0, 1fr); }
  body:has(.routes) { --side: 24rem; }
  header { grid-column: 1 / -1; }
  .to-side { display: none; }
  .side { grid-area: 2 / 1; position: sticky; top: 3.4rem; height: calc(100vh - 3.4rem); overflow-y: auto; border: 0; border-right: 1px solid var(--rule); }
  main { grid-area: 2 / 2; padding: 1rem 2.5rem; }
}
@media (min-width: 84rem) {
  body:has(.contents) { grid-template-columns: var(--side) minmax(0, 1fr) 15rem; }
  .contents { grid-area: 2 / 3; display: block; position: sticky; top: 3.4rem; max-height: calc(100vh - 3.4rem); overflow-y: auto; align-self: start; }
}
@media print { header, .side, .contents { display: none; } }
`;
