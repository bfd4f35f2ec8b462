import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { MergeView } from '@codemirror/merge'
import { Annotation, EditorState } from '@codemirror/state'
import {
  Decoration, type DecorationSet, EditorView, keymap, lineNumbers, MatchDecorator, ViewPlugin, type ViewUpdate,
} from '@codemirror/view'
import { useEffect, useLayoutEffect, useRef } from 'react'
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
  '.cm-collapsedLines': { '&:before, &:after': { content: '"⋯"' } },
  '.cm-changedLine': { backgroundColor: 'var(--markbg) !important' },
  '.cm-changedText': { background: 'none !important', textDecoration: 'underline' },
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

/** Two texts side by side. */
export function Diff({ before, after, labels }: { before: string; after: string; labels: [string, string] }) {
  const at = useRef<HTMLDivElement>(null)
  const [left, right] = labels
  useEffect(() => {
    const readOnly = [EditorState.readOnly.of(true), EditorView.editable.of(false)]
    const made = new MergeView({
      parent: at.current!,
      a: { doc: before, extensions: [...common(left), ...readOnly] },
      b: { doc: after, extensions: [...common(right), ...readOnly] },
      collapseUnchanged: { margin: 2 },
    })
    return () => made.destroy()
  }, [before, after, left, right])
  if (before === after) return <p className="text-soft">{t.theTextsAreThe}</p>
  return (
    <>
      <div className="mb-1 grid grid-cols-2 text-xs text-soft"><span>{left}</span><span>{right}</span></div>
      <div ref={at} data-testid="diff" />
    </>
  )
}
