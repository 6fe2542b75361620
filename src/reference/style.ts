import { LOOK } from './look.ts';

/** The style of all pages. It has no fonts and no images, so it asks for nothing. */
export const STYLE = `${LOOK}
:root { --side: 240px; }
html { scroll-padding-top: var(--space-4); }
body { font-size: var(--text-m); line-height: 1.6; }
a { text-underline-offset: 2px; }
.skip, .hidden { position: absolute; left: -999rem; }
.skip:focus { left: var(--space-4); top: var(--space-4); background: var(--panel); padding: var(--space-2) var(--space-4); z-index: 2; }
.side a:hover, .contents a:hover, .anchor:hover { text-decoration: underline; }
form { display: flex; gap: var(--space-2); }
input, button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line-strong); border-radius: var(--radius-s); padding: var(--space-1) var(--space-2); min-width: 0; }
input { width: 224px; }
button { cursor: pointer; flex: none; }
main { max-width: 800px; min-width: 0; padding: var(--space-4); margin: 0 auto; }
.side, .contents { padding: var(--space-4); font-size: var(--text-s); line-height: 1.4; }
.side ul, .contents ul { list-style: none; margin: 0 0 var(--space-4); padding: 0; }
.side ul ul { margin: 0; padding-left: var(--space-3); }
.side li, .contents li { overflow-wrap: anywhere; padding: 2px 0; }
.side a, .contents a { text-decoration: none; }
.side a[aria-current] { color: var(--ink); font-weight: 600; }
.side h2, .contents h2 { margin: 0 0 var(--space-1); padding: 0; border: 0; font-size: var(--text-xs); font-weight: 600; color: var(--quiet); }
.side { border-top: 1px solid var(--line); }
.contents { display: none; }
h1, h2, h3, h4 { line-height: 1.25; overflow-wrap: anywhere; }
h1 { margin: var(--space-2) 0 var(--space-4); font-size: var(--text-xxl); }
h2 { margin: var(--space-12) 0 var(--space-3); border-bottom: 1px solid var(--line); padding-bottom: var(--space-1); font-size: var(--text-xl); }
h3 { margin: var(--space-8) 0 var(--space-2); font-size: var(--text-l); }
h4 { margin: var(--space-4) 0 var(--space-1); font-size: var(--text-m); }
.anchor, h3 a { color: inherit; text-decoration: none; }
.method { font: 700 var(--text-xs)/1 var(--mono); border: 1px solid currentColor; border-radius: var(--radius-s); padding: 2px var(--space-1); margin-right: var(--space-2); }
p { margin: var(--space-2) 0; overflow-wrap: anywhere; }
li { overflow-wrap: anywhere; }
code, .codes { font: var(--text-code)/1.5 var(--mono); overflow-wrap: anywhere; }
main :not(pre, h3 a) > code { background: var(--sunk); border-radius: var(--radius-s); padding: 1px var(--space-1); }
pre { background: var(--sunk); border: 1px solid var(--line); border-radius: var(--radius); padding: var(--space-3) var(--space-4); overflow-x: auto; }
pre code { overflow-wrap: normal; }
main img { max-width: 100%; height: auto; background: light-dark(transparent, #fff); border-radius: var(--radius); }
.table { overflow-x: auto; margin: var(--space-4) 0; }
table { border-collapse: collapse; font-size: var(--text-s); line-height: 1.5; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); padding: var(--space-2) var(--space-4) var(--space-2) 0; min-width: 80px; }
td code { overflow-wrap: normal; }
mark { background: var(--found); color: var(--ink); border-radius: 2px; }
.results { padding-left: var(--space-6); }
.results li { margin: var(--space-4) 0; }
.results p { margin: 2px 0; color: var(--quiet); }
details { border-left: 2px solid var(--line); padding-left: var(--space-3); margin: var(--space-2) 0; }
summary { cursor: pointer; padding: 2px 0; }
dl { margin: 0; }
dt { margin-top: var(--space-2); overflow-wrap: anywhere; }
dd { margin: 0 0 0 var(--space-4); }
dt i { font-style: normal; }
dt i, .type, .usual, dt em, .quiet { color: var(--quiet); font-size: var(--text-s); }
footer { margin-top: var(--space-12); border-top: 1px solid var(--line); }
@media (max-width: 760px) {
  input { flex: 1; }
  form { order: 2; width: 100%; }
  th, td { min-width: 64px; padding-right: var(--space-2); font-size: var(--text-xs); }
  table:has(th:nth-child(4)) { min-width: 560px; }
  table:has(th:nth-child(5)) { min-width: 720px; }
  td code { overflow-wrap: anywhere; }
}
@media (min-width: 64rem) {
  html { scroll-padding-top: 64px; }
  header.top { position: sticky; top: 0; z-index: 1; }
  body { display: grid; grid-template: auto 1fr / var(--side) minmax(0, 1fr); }
  body:has(.routes) { --side: 384px; }
  header { grid-column: 1 / -1; }
  .to-side { display: none; }
  .side { grid-area: 2 / 1; position: sticky; top: 48px; height: calc(100vh - 48px); overflow-y: auto; border: 0; border-right: 1px solid var(--line); }
  main { grid-area: 2 / 2; width: 100%; max-width: 1056px; padding: var(--space-4) var(--space-12); }
  main > :not(pre, .table) { max-width: 704px; }
  pre { width: fit-content; min-width: min(704px, 100%); max-width: 100%; }
}
@media (min-width: 84rem) {
  body:has(.contents) { grid-template-columns: var(--side) minmax(0, 1fr) 240px; }
  .contents { grid-area: 2 / 3; display: block; position: sticky; top: 48px; max-height: calc(100vh - 48px); overflow-y: auto; align-self: start; }
}
@media print { header, .side, .contents { display: none; } }
`;
