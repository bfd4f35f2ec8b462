import { AtriumError, type ChatItem, type ChatTemplate, responseOf } from '@atrium-hq/client'
import { useIsMutating, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { atrium, queries } from '../api'
import { useDraft } from '../app/draft'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useWorkspace } from '../app/workspace'
import { keyOf } from '../person'
import { t } from '../text'
import { words } from '../text/chats'
import { Button, fieldErrors, Problem } from '../ui/basics'
import { Form, Input, TextArea } from '../ui/form'
import { check, same, type Schema } from '../ui/schema'
import { attaching, Items, refusals, Workflows } from './chat-items'

type Picked = Record<'agents' | 'tools' | 'capabilities', ChatItem[]>

/** What is typed, with the state of the chat that it began with. */
interface Typed { etag: string; revision: number; fields: Record<string, string>; picked: Picked }

interface Begun { chat: ChatTemplate; etag: string; revision: number; typed?: Typed }

const begin = (chat: ChatTemplate): Begun => ({ chat, etag: responseOf(chat)?.etag ?? '', revision: chat.revision })

function resume(chat: ChatTemplate, draft: string | null): Begun {
  if (!draft) return begin(chat)
  const typed = JSON.parse(draft) as Typed
  return { chat, etag: typed.etag, revision: typed.revision, typed }
}

/** Edits what a chat is. What somebody else changes meanwhile never replaces what is typed, nor does a reload. */
export function Configure({ latest, mayEdit }: { latest: ChatTemplate; mayEdit: boolean }) {
  const key = keyOf('draft', latest.id)
  const { change, forget } = useDraft(key)
  const [begun, setBegun] = useState(() => resume(latest, mayEdit ? localStorage.getItem(key) : null))
  const [typed, setTyped] = useState(!!begun.typed)
  const [round, setRound] = useState(0)
  const last = useRef(begun.typed)
  // Until it ends, it is not known whether a newer revision is only this person's own change of a workflow.
  const attaches = useIsMutating({ mutationKey: attaching(latest.id) }) > 0
  const newer = latest.revision > begun.revision && !attaches
  const restart = (chat: ChatTemplate) => { forget(); setBegun(begin(chat)); setTyped(false); setRound((n) => n + 1) }
  const keep = (from: Begun, fields: Record<string, string>, picked: Picked) => {
    last.current = { etag: from.etag, revision: from.revision, fields, picked }
    change(() => JSON.stringify(last.current))
  }
  /**
   * Goes on with what is typed, on a state of the chat that the same person has just made. It does so at once: the form can
   * be sent again as soon as the call has ended.
   */
  const rebase = (chat: ChatTemplate) => {
    const next = { ...begun, ...begin(chat) }
    flushSync(() => setBegun(next))
    if (typed && last.current) keep(next, last.current.fields, last.current.picked)
  }
  // Not after the page is painted: what is typed between the two would be lost.
  useLayoutEffect(() => {
    if (typed || !newer) return
    setBegun(begin(latest))
    setRound((n) => n + 1)
  }, [typed, newer, latest])
  return (
    <>
      {typed && newer && (
        <p role="status" className="mt-0 text-warn">
          {words.somebodyElseHasChanged} <Button tone="quiet" onClick={() => restart(latest)}>{words.showTheirsAndDiscard}</Button>
        </p>
      )}
      <Edit
        key={round} begun={begun} mayEdit={mayEdit} waits={attaches} onSavedBefore={rebase}
        onSaved={(chat) => flushSync(() => restart(chat))} // at once: what is typed until then would be lost
        onType={(fields, picked) => { setTyped(true); keep(begun, fields, picked) }}
      />
      <Workflows
        chat={latest} mayEdit={mayEdit} onChanged={(chat) => { if (chat.revision === begun.revision + 1) rebase(chat) }}
      />
    </>
  )
}

function Edit({ begun, mayEdit, waits, onType, onSaved, onSavedBefore }: {
  begun: Begun
  mayEdit: boolean
  /** Whether nothing can be saved for a moment. */
  waits: boolean
  onType: (fields: Record<string, string>, picked: Picked) => void
  onSaved: (chat: ChatTemplate) => void
  /** Called instead if more was typed while it was saved. */
  onSavedBefore: (chat: ChatTemplate) => void
}) {
  const workspace = useWorkspace()
  const { chat, typed } = begun
  const registry = useQuery({ queryKey: ['registry', workspace], queryFn: () => atrium.chatTemplates.getRegistry({ workspace }) })
  const [picked, setPicked] = useState<Picked>(typed?.picked ?? {
    agents: chat.agents, tools: chat.tools, capabilities: chat.capabilities.map((id) => ({ id })),
  })
  const now = useRef(picked) // of this moment: one event can change an item, and then reach the fieldset
  const box = useRef<HTMLFieldSetElement>(null)
  const [refused, setRefused] = useState(0)
  const fields = () => {
    const values: Record<string, string> = {}
    for (const [name, value] of new FormData(box.current!.form!)) if (typeof value === 'string') values[name] = value
    return values
  }
  const save = useMutation({
    mutationFn: ({ v, picked: sent }: { v: Record<string, string>; picked: Picked }) => atrium.chatTemplates.update(chat.id, {
      name: v.name ?? chat.name, description: v.description || null, greeting: v.greeting || null,
      ...(!chat.prompt && { instructions: v.instructions || null }),
      conversation_starters: (v.starters ?? '').split('\n').map((s) => s.trim()).filter(Boolean),
      agents: sent.agents, tools: sent.tools, capabilities: sent.capabilities.map((c) => c.id),
    }, { workspace, ifMatch: begun.etag }),
    onSuccess: async (saved, sent) => {
      if (same(fields(), sent.v) && same(now.current, sent.picked)) onSaved(saved)
      else onSavedBefore(saved)
      toast(t.saved)
      await queries.invalidateQueries({ queryKey: ['chat', chat.id] })
    },
  })
  /** Whether a configuration that was changed has an error, as far as its schema tells here. */
  const broken = (kind: 'agents' | 'tools') => picked[kind].some((item) => {
    const schema = registry.data?.[kind].find((x) => x.id === item.id)?.config_schema as Schema | null | undefined
    const kept = chat[kind].find((x) => x.id === item.id)
    return !(kept && same(kept, item)) && Object.keys(check(schema ?? {}, item.config ?? {}, schema ?? {})).length > 0
  })
  // The first field with an error gets the focus, after the configuration that it is in has opened.
  useEffect(() => {
    if (refused === 0 && !save.error) return
    const frame = requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-wrong]')?.focus())
    return () => cancelAnimationFrame(frame)
  }, [refused, save.error])
  const wrong = fieldErrors(save.error, (pointer) => !/^\/(agents|tools)\//.test(pointer))
  const type = () => onType(fields(), now.current)
  const items = (kind: keyof Picked, title: string) => (
    <Items
      title={title} offered={registry.data?.[kind]} picked={picked[kind]} disabled={!mayEdit} configured={kind !== 'capabilities'}
      all={refused > 0} refused={refusals(kind, save.error, save.variables?.picked[kind] ?? [], picked[kind])}
      onChange={(next) => { now.current = { ...now.current, [kind]: next }; setPicked(now.current); type() }}
    />
  )
  const text = (name: string, stored: string | null | undefined) => typed?.fields[name] ?? stored ?? ''
  const all = (
    <fieldset ref={box} disabled={!mayEdit} onInput={type} className="m-0 grid min-w-0 gap-x-6 border-0 p-0 lg:grid-cols-2">
      <div className="min-w-0">
        <Input name="name" label={t.name} required maxLength={120} defaultValue={text('name', chat.name)} error={wrong.name} />
        <Input name="description" label={t.description} maxLength={500} defaultValue={text('description', chat.description)} error={wrong.description} />
        {chat.prompt
          ? <PromptLink id={chat.prompt.prompt_template_id} version={chat.prompt.ref} />
          : <TextArea name="instructions" label={words.instructions} rows={8} defaultValue={text('instructions', chat.instructions)} error={wrong.instructions} />}
        <TextArea name="greeting" label={words.greeting} rows={2} defaultValue={text('greeting', chat.greeting)} error={wrong.greeting} />
        <TextArea name="starters" label={words.conversationStarters} hint={words.oneInEachLine} defaultValue={text('starters', chat.conversation_starters.join('\n'))} error={wrong.conversation_starters} />
      </div>
      <div className="min-w-0">
        {items('agents', words.agents)}
        {items('tools', words.tools)}
        {items('capabilities', words.capabilities)}
      </div>
    </fieldset>
  )
  if (!mayEdit) return <><p className="mt-0 text-soft">{words.aViewerCannotChange}</p>{all}</>
  return (
    <Form
      saves send={t.save} busy={save.isPending || waits}
      onSend={(v) => broken('agents') || broken('tools') ? setRefused(refused + 1) : save.mutate({ v, picked })}
    >
      {all}
      {AtriumError.is(save.error, 'revision_mismatch') && <p className="text-bad">{t.changed}</p>}
      <Problem error={save.error} />
    </Form>
  )
}

/** Names the prompt that has the instructions, and which version. Who may not see the prompt reads its id. */
function PromptLink({ id, version }: { id: string; version: string }) {
  const workspace = useWorkspace()
  const prompt = useQuery({ queryKey: ['prompt', id], queryFn: () => atrium.promptTemplates.get(id, { workspace }) })
  return (
    <p className="mb-3">
      {words.theInstructionsAreThe}{' '}
      {prompt.data ? <Link to={`/w/${workspace}/prompts/${id}` as string}>{prompt.data.name}</Link> : <code>{id}</code>} ({version}).
    </p>
  )
}
