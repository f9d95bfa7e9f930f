"""The page's style sheet: no fonts, no images, colours for light and for dark, one column on a phone."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2128; --soft: #57606a; --paper: #ffffff; --panel: #f6f8fa;
  --line: #d0d7de; --good: #116329; --good-bg: #dafbe1; --bad: #a40e26; --bad-bg: #ffebe9; --odd: #7d4e00;
  --odd-bg: #fff8c5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117;
  --panel: #151b23; --line: #3d444d; --good: #7ee787; --good-bg: #12351d; --bad: #ffa198; --bad-bg: #471a1c;
  --odd: #e3b341; --odd-bg: #3a2d0c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h4 { font-size: .8rem; font-weight: 600; margin: 0; color: var(--soft); }
p { margin: .2rem 0 .4rem; overflow-wrap: anywhere; }
section { margin: 1.6rem 0; }
ol, ul { list-style: none; margin: 0; padding: 0; }
ol > li { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: 0 0 .6rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: .2rem 0; padding: .4rem .6rem; background: var(--panel); border-left: 3px solid var(--line);
  white-space: pre-wrap; overflow-wrap: anywhere; }
pre.old { background: var(--bad-bg); border-color: var(--bad); }
pre.new { background: var(--good-bg); border-color: var(--good); }
pre.odd { background: var(--odd-bg); border-color: var(--odd); }
pre.old::before { content: "before"; } pre.new::before { content: "after"; }
pre.old::before, pre.new::before { display: block; font-size: 11px; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.verdicts { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.tag { display: inline-block; border-radius: 4px; padding: 0 .4rem; font-size: .85rem; color: var(--soft);
  background: var(--panel); border: 1px solid var(--line); overflow-wrap: anywhere; }
.good, .added { color: var(--good); background: var(--good-bg); }
.bad, .removed { color: var(--bad); background: var(--bad-bg); }
.odd, .changed, .reordered { color: var(--odd); background: var(--odd-bg); }
.near { color: var(--soft); font-size: .85rem; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: .8rem; } .sides > div { min-width: 0; }
.findings li { margin: 0 0 .25rem; }
small { color: var(--soft); }
@media (max-width: 40rem) { .sides { grid-template-columns: 1fr; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin: 0 0 .4rem; } main { padding: .7rem; } }
"""
