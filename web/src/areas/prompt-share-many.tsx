import { AtriumError, type PromptTemplate } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { firstPage, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, Loading, Pill, Problem } from '../ui/basics'
import { Form, Select } from '../ui/form'
import { Dialog } from '../ui/overlays'

/** What the server takes for one prompt at a time. */
const most = 100

interface Sent { people: string[]; role: string }

/** What became of one prompt: nothing yet, shared, or why not. */
type Result = 'shared' | string[]

/** Shares several prompts with several people and groups, one prompt after the other, and tells what became of each. */
export function ShareMany({ prompts, onClose }: { prompts: PromptTemplate[]; onClose: () => void }) {
  const workspace = useWorkspace()
  const [picked, setPicked] = useState<string[]>([])
  const [sent, setSent] = useState<Sent>()
  const [results, setResults] = useState<Record<string, Result>>({})
  const [busy, setBusy] = useState(false)
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const groups = useQuery({
    queryKey: ['groups', workspace, 'all'], queryFn: () => firstPage(atrium.groups.list({ limit: 100 }, { workspace })).then((p) => p.data),
  })
  const choices = [
    ...(groups.data ?? []).map((g) => ({ value: g.id, label: words.groupNamed(g.name) })),
    ...(members.data ?? []).map((m) => ({ value: m.user_id, label: m.name || m.email || m.user_id })),
  ]
  const name = (id: string | undefined) => choices.find((c) => c.value === id)?.label ?? id ?? ''
  const why = (error: unknown, people: string[]) => {
    if (!AtriumError.is(error)) return [t.unreachable]
    const fields = error.errors.map((e) => {
      const who = /^\/changes\/(\d+)/.exec(e.pointer)?.[1]
      return who === undefined ? e.detail : `${name(people[Number(who)])}: ${e.detail}`
    })
    return fields.length > 0 ? fields : [error.detail]
  }
  const share = async (of: PromptTemplate[], { people, role }: Sent) => {
    setBusy(true)
    setSent({ people, role })
    for (const p of of) {
      const result: Result = await atrium.promptTemplates.shares.change(
        p.id, { changes: people.map((user_id) => ({ user_id, role: role as 'viewer' })) }, { workspace },
      ).then(() => 'shared' as const, (error: unknown) => why(error, people))
      setResults((before) => ({ ...before, [p.id]: result }))
    }
    setBusy(false)
    await queries.invalidateQueries({ queryKey: ['shares'] })
  }
  const failed = prompts.filter((p) => Array.isArray(results[p.id]))
  return (
    <Dialog open onClose={onClose} title={words.sharePrompts(prompts.length)} wide>
      {!sent && (members.isPending || groups.isPending ? <Loading /> : (
        <Form send={words.share} busy={picked.length === 0} onSend={(v) => void share(prompts, { people: picked, role: v.role ?? 'viewer' })}>
          <p className="mt-0 break-words text-soft">{prompts.map((p) => p.name).join(', ')}</p>
          <fieldset className="m-0 mb-3 max-h-64 overflow-auto rounded-md border border-line p-3">
            <legend className="px-1 font-medium">{words.peopleAndGroups}</legend>
            {choices.map((c) => (
              <label key={c.value} className="flex gap-2">
                <input
                  type="checkbox" checked={picked.includes(c.value)} disabled={picked.length >= most && !picked.includes(c.value)}
                  onChange={(e) => setPicked(e.target.checked ? [...picked, c.value] : picked.filter((id) => id !== c.value))}
                />
                {c.label}
              </label>
            ))}
          </fieldset>
          <Select name="role" label={t.role} hint={words.whoHasAShare} choices={['viewer', 'editor', 'manager'].map((r) => ({ value: r, label: r }))} />
          <Problem error={members.error ?? groups.error} />
        </Form>
      ))}
      {sent && (
        <>
          <ul aria-label={words.resultOfSharing} className="m-0 list-none p-0">
            {prompts.map((p) => {
              const result = results[p.id]
              return (
                <li key={p.id} className="border-b border-line py-2 last:border-b-0">
                  <div className="flex flex-wrap items-center gap-2">
                    <span className="min-w-0 font-medium break-words">{p.name}</span>
                    {result === 'shared' ? <Pill tone="ok">{words.isShared}</Pill>
                      : result ? <Pill tone="bad">{words.isNotShared}</Pill> : <Pill>{words.isNext}</Pill>}
                  </div>
                  {Array.isArray(result) && result.map((text) => <p key={text} className="m-0 text-xs text-bad">{text}</p>)}
                </li>
              )
            })}
          </ul>
          <div className="mt-4 flex flex-wrap gap-2">
            <Button tone="act" disabled={busy} onClick={onClose}>{t.close}</Button>
            {failed.length > 0 && <Button disabled={busy} onClick={() => void share(failed, sent)}>{words.tryTheOthers(failed.length)}</Button>}
            {failed.length > 0 && <Button disabled={busy} onClick={() => { setSent(undefined); setResults({}) }}>{words.chooseOthers}</Button>}
          </div>
        </>
      )}
    </Dialog>
  )
}
