/** The style of the page. It has no fonts and no images, so it asks for nothing. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fff, #14171c);
  --ink: light-dark(#1b1f27, #e4e7ec);
  --quiet: light-dark(#555d6b, #a6aebb);
  --rule: light-dark(#d9dde3, #333a45);
  --panel: light-dark(#f4f6f8, #1c2129);
  --link: light-dark(#0b57b0, #7db5f5);
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, pre:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; z-index: 1; }
header, main, footer { max-width: 60rem; padding: 1rem; margin: 0 auto; }
nav ul { list-style: none; margin: 0; padding: 0 0 0 .75rem; }
nav li { overflow-wrap: anywhere; padding: .15rem 0; }
h1, h2, h3, h4 { line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--rule); padding-bottom: .3rem; }
h3 { margin: 2.5rem 0 .5rem; font-size: 1.1rem; }
h4 { margin: 1rem 0 .3rem; font-size: 1rem; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
.method { font: 700 .8rem/1 ui-monospace, monospace; border: 1px solid currentColor; border-radius: 4px; padding: .15rem .4rem; margin-right: .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
code, .codes { font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: .75rem; overflow-x: auto; }
pre code { overflow-wrap: normal; }
details { border-left: 2px solid var(--rule); padding-left: .75rem; margin: .5rem 0; }
summary { cursor: pointer; padding: .2rem 0; }
dl { margin: 0; }
dt { margin-top: .6rem; overflow-wrap: anywhere; }
dd { margin: 0 0 0 1rem; }
dt i { font-style: normal; }
dt i, .type, .usual, dt em, .quiet { color: var(--quiet); font-size: .9rem; }
@media (min-width: 76rem) {
  body { display: grid; grid-template-columns: 24rem minmax(0, 1fr); }
  header { grid-column: 1; grid-row: 1 / span 2; position: sticky; top: 0; height: 100vh; overflow-y: auto; margin: 0; border-right: 1px solid var(--rule); }
  main, footer { grid-column: 2; margin: 0; }
}
@media print { header nav { display: none; } }
`;
