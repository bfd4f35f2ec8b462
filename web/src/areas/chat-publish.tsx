import type { ChatTemplate, ChatVersionDiff } from '@atrium-hq/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { toast } from '../app/toast'
import { useList, useNames, useWorkspace } from '../app/workspace'
import { Button, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

/** Makes the draft, or an earlier version, what visitors get. It first shows what that changes. */
export function Publish({ chat, version = 'draft', onClose }: { chat: ChatTemplate; version?: string; onClose: () => void }) {
  const workspace = useWorkspace()
  const before = chat.published_version_id
  const publish = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.versions.publish(chat.id, version, {
      ...(v.reason && { reason: v.reason }), expected_published_version_id: before,
    }, { workspace }),
    onSuccess: async (now) => {
      toast(`Version ${now.published_version ?? ''} is published.`, before && before !== now.published_version_id ? async () => {
        await atrium.chatTemplates.versions.publish(chat.id, before, { reason: 'Undone' }, { workspace })
        await queries.invalidateQueries()
      } : undefined)
      onClose()
      await queries.invalidateQueries()
    },
  })
  return (
    <Dialog open wide onClose={onClose} title={version === 'draft' ? 'Publish the draft' : `Publish ${version} again`}>
      {before
        ? <Changes id={chat.id} version={version} />
        : <p className="mt-0">Sites that embed the chat show it from now on.</p>}
      <Form send="Publish" busy={publish.isPending} onSend={(v) => publish.mutate(v)}>
        <Input name="reason" label="Why" hint="For the history. You can leave it out." maxLength={500} />
        <Problem error={publish.error} />
      </Form>
    </Dialog>
  )
}

/** What differs between the published version and another one. */
function Changes({ id, version }: { id: string; version: string }) {
  const workspace = useWorkspace()
  const diff = useQuery({
    queryKey: ['chat diff', id, version], queryFn: () => atrium.chatTemplates.versions.diff(id, version, {}, { workspace }),
  })
  if (!diff.data) return diff.error ? <Problem error={diff.error} /> : <Loading />
  return <Differences diff={diff.data} />
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function Differences({ diff }: { diff: ChatVersionDiff }) {
  if (diff.changed_fields.length === 0) return <p className="mt-0 text-soft">Nothing differs from what is published.</p>
  return (
    <>
      {diff.changes.length > 0 && (
        <Table
          label="Changes" items={diff.changes} id={(c) => c.field}
          columns={[
            { title: 'What', narrow: true, cell: (c) => c.field.replaceAll('_', ' ') },
            { title: `Published (${diff.against})`, cell: (c) => <span className="break-words text-bad">{shown(c.from) || '–'}</span> },
            { title: diff.version, cell: (c) => <span className="break-words text-ok">{shown(c.to) || '–'}</span> },
          ]}
        />
      )}
      {diff.unified && (
        <pre tabIndex={0} aria-label="Changes of the instructions" className="max-h-72 overflow-auto rounded-md border border-line p-2 text-xs">{diff.unified}</pre>
      )}
    </>
  )
}

/** Which version was published when, and the way back to each of them. */
export function Publications({ chat }: { chat: ChatTemplate }) {
  const workspace = useWorkspace()
  const names = useNames()
  const [again, setAgain] = useState<string>()
  const manages = ['manager', 'owner'].includes(chat.my_role)
  const list = useList(['publications', chat.id], (cursor) => atrium.chatTemplates.publications.list(chat.id, { limit: 50, ...(cursor && { cursor }) }, { workspace }))
  if (list.isPending) return <Loading />
  return (
    <>
      <Problem error={list.error} />
      {list.items.length === 0 && <p className="text-soft">Nothing has been published yet.</p>}
      <ol className="m-0 list-none border-l-2 border-line p-0 pl-4">
        {list.items.map((p) => (
          <li key={p.published_at + p.to_version_id} className="mb-4">
            <b>v{p.to_version_number}</b> {p.from_version_number !== null && <>after v{p.from_version_number}</>}{' '}
            {p.to_version_id === chat.published_version_id && <Pill tone="ok">published</Pill>}{' '}
            <span className="text-soft"><When at={p.published_at} /> · <span title={p.published_by}>{names(p.published_by)}</span></span>
            {manages && p.to_version_id !== chat.published_version_id && (
              <> <Button tone="quiet" onClick={() => setAgain(`v${p.to_version_number}`)}>Publish v{p.to_version_number} again</Button></>
            )}
            {p.reason && <p className="m-0">{p.reason}</p>}
          </li>
        ))}
      </ol>
      <More list={list} />
      {again && <Publish chat={chat} version={again} onClose={() => setAgain(undefined)} />}
    </>
  )
}
