import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { Annotation, EditorState } from '@codemirror/state'
import {
  Decoration, type DecorationSet, EditorView, keymap, lineNumbers, MatchDecorator, ViewPlugin, type ViewUpdate,
} from '@codemirror/view'
import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react'
import { t } from '../text'

// CodeMirror adds style elements, which the policy of the page allows by this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''

const tags = new MatchDecorator({
  regexp: /\{\{[^{}]*\}\}/g, decoration: Decoration.mark({ class: 'cm-variable' }),
})

const variables = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) { this.decorations = tags.createDeco(view) }
    update(update: ViewUpdate) { this.decorations = tags.updateDeco(update, this.decorations) }
  },
  { decorations: (plugin) => plugin.decorations },
)

const theme = EditorView.theme({
  '&': { fontSize: '13px', border: '1px solid var(--line)', borderRadius: '6px', backgroundColor: 'var(--card)' },
  // Not the dotted one of CodeMirror: to draw the dots beside a text of 3,000 lines takes longer than ten frames.
  '&.cm-focused': { outline: '2px solid var(--act)', outlineOffset: '-1px' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--page)', color: 'var(--soft)', border: 'none' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--markbg)' },
  '.cm-variable': { color: 'var(--act)', backgroundColor: 'var(--markbg)', borderRadius: '3px' },
  // Many systems have no font for the sign of CodeMirror.
  '.cm-collapsedLines': { background: 'var(--page) !important', color: 'var(--soft) !important', '&:before, &:after': { content: '"⋯"' } },
  '.cm-changedLine': { backgroundColor: 'var(--markbg) !important' },
  '.cm-changedText': { background: 'none !important', textDecoration: 'underline' },
  // Both texts in one column, as on a phone.
  '.cm-unified .cm-changedLine': { backgroundColor: 'var(--okbg) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--badbg)', paddingInlineStart: '6px' },
  '.cm-deletedChunk .cm-deletedText': { background: 'none !important', textDecoration: 'underline' },
  '.cm-unified .cm-changedLine:before': { content: '"+ "', color: 'var(--ok)' },
  '.cm-deletedChunk .cm-deletedLine:before': { content: '"− "', color: 'var(--bad)' },
})

const common = (label: string) => [
  EditorView.contentAttributes.of({ 'aria-label': label }), nonce ? EditorView.cspNonce.of(nonce) : [], theme,
  lineNumbers(), variables, EditorView.lineWrapping,
]

// Marks changes that the page makes, not the person who types.
const fromProps = Annotation.define<boolean>()

/** A text with its variables marked. It can be changed if there is an onChange. */
export function Editor({ value, isBehind = false, onChange, label }: {
  value: string
  /** Whether `value` lacks what was typed last, and so must not replace it. */
  isBehind?: boolean
  /** Called at each key. Its argument reads the text, which takes long if the text is long. */
  onChange?: (read: () => string) => void
  label: string
}) {
  const at = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const changed = useRef(onChange)
  // Nor is a key between the two reported to what the page was before.
  useLayoutEffect(() => { changed.current = onChange })
  const first = useRef(value)
  const readOnly = !onChange
  useEffect(() => {
    const made = new EditorView({
      parent: at.current!,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          ...common(label), history(), keymap.of([...defaultKeymap, ...historyKeymap]), EditorState.readOnly.of(readOnly),
          EditorView.updateListener.of((u) => {
            const given = u.transactions.some((tr) => tr.annotation(fromProps))
            if (u.docChanged && !given) changed.current?.(() => u.view.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [label, readOnly])
  // Not after the page is painted: a key between the two would be lost.
  useLayoutEffect(() => {
    const made = view.current
    if (made && !isBehind && made.state.doc.toString() !== value) {
      made.dispatch({
        changes: { from: 0, to: made.state.doc.length, insert: value }, annotations: fromProps.of(true),
      })
    }
    first.current = value
  }, [value, isBehind])
  return <div ref={at} />
}

const phone = matchMedia('(width < 40rem)')

function usePhone() {
  return useSyncExternalStore((tell) => {
    phone.addEventListener('change', tell)
    return () => phone.removeEventListener('change', tell)
  }, () => phone.matches)
}

/** Two texts side by side. On a phone they are in one column: what is removed stands above what takes its place. */
export function Diff({ before, after, labels }: { before: string; after: string; labels: [string, string] }) {
  const at = useRef<HTMLDivElement>(null)
  const [left, right] = labels
  const isNarrow = usePhone()
  useEffect(() => {
    const readOnly = [EditorState.readOnly.of(true), EditorView.editable.of(false)]
    const parent = at.current!, collapseUnchanged = { margin: 2 }
    const made = isNarrow
      ? new EditorView({
        parent, doc: after,
        extensions: [
          ...common(t.comparison), ...readOnly, EditorView.contentAttributes.of({ class: 'cm-unified' }),
          unifiedMergeView({ original: before, mergeControls: false, gutter: false, collapseUnchanged }),
        ],
      })
      : new MergeView({
        parent, collapseUnchanged,
        a: { doc: before, extensions: [...common(left), ...readOnly] },
        b: { doc: after, extensions: [...common(right), ...readOnly] },
      })
    return () => made.destroy()
  }, [before, after, left, right, isNarrow])
  if (before === after) return <p className="text-soft">{t.theTextsAreThe}</p>
  return (
    <>
      {isNarrow
        ? <p className="m-0 mb-1 text-xs"><span className="text-bad">− {left}</span> <span className="ms-3 text-ok">+ {right}</span></p>
        : <div className="mb-1 grid grid-cols-2 text-xs text-soft"><span>{left}</span><span>{right}</span></div>}
      <div ref={at} data-testid="diff" className="mb-3" />
    </>
  )
}
