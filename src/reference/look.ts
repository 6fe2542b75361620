/**
 * What `/`, `/inspect` and `/docs` share: colors, steps of type and space, and the bar at the top.
 * The inspector's style sheet begins with it (`tools/inspector.ts`), and so does the style of the
 * documentation (`style.ts`).
 */

/** Colors have a contrast of 4.5 to 1 with their ground in both themes. */
export const LOOK = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfbfa, #141517);
  --panel: light-dark(#ffffff, #1c1d20);
  --sunk: light-dark(#f2f2ef, #25272b);
  --ink: light-dark(#1c1d1f, #e8e8e6);
  --quiet: light-dark(#5c5f66, #a5a8b0);
  --line: light-dark(#dcdcd6, #363940);
  --line-strong: light-dark(#b4b5ae, #5b5f68);
  --accent: light-dark(#1f5fbf, #7db0ff);
  --accent-ink: light-dark(#ffffff, #10213c);
  --accent-soft: light-dark(#1f5fbf14, #7db0ff1f);
  --found: light-dark(#fff0b8, #5a4a10);
  --radius: 8px; --radius-s: 4px;
  --text-xs: 0.75rem; --text-s: 0.875rem; --text-m: 1rem; --text-l: 1.125rem; --text-xl: 1.5rem; --text-xxl: 2rem; --text-code: 0.9em;
  --space-1: 4px; --space-2: 8px; --space-3: 12px; --space-4: 16px; --space-6: 24px; --space-8: 32px; --space-12: 48px; --space-16: 64px;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Hiragino Sans", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Noto Sans CJK SC", "Noto Sans Arabic", "DejaVu Sans", sans-serif;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font-family: var(--sans); }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
.top { display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-4); align-items: center; min-height: 48px; padding: var(--space-2) var(--space-6); background: var(--panel); border-bottom: 1px solid var(--line); font-size: var(--text-s); }
.brand { display: flex; gap: var(--space-2); align-items: center; color: var(--ink); font-size: var(--text-m); font-weight: 700; text-decoration: none; }
.mark { width: 20px; height: 20px; }
.top nav { display: flex; flex-wrap: wrap; gap: 2px; flex: 1; }
.top nav a { padding: var(--space-1) var(--space-2); border-radius: var(--radius-s); color: var(--ink); text-decoration: none; }
.top nav a:hover { background: var(--sunk); }
.top nav a[aria-current] { background: var(--sunk); font-weight: 600; }
@media (max-width: 760px) {
  .top { justify-content: space-between; padding: var(--space-2) var(--space-3); }
  .top nav { flex: 1 0 100%; order: 1; }
}
@media (max-width: 480px) {
  .top nav { font-size: var(--text-xs); }
}
@media (max-width: 900px) {
  .top nav a { padding-inline: var(--space-1); }
  .top kbd { display: none; }
}
`;
