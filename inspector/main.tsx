/** The inspector in a browser (docs/inspector.md). */
import { render } from 'preact';
import { App } from './app.tsx';
import { keepScroll } from './scroll.ts';
// In this order: the last one overrides the others.
import './style/base.css';
import './style/controls.css';
import './style/terms.css';
import './style/front.css';
import './style/start.css';
import './style/conversations.css';
import './style/transcripts.css';
import './style/try-it.css';
import './style/operator.css';
import './style/rows.css';
import './style/narrow.css';

keepScroll();
const root = document.getElementById('app');
if (root) render(<App keyOptional={document.documentElement.dataset.key === 'optional'} />, root);
