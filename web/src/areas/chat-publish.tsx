import type { ChatTemplate, ChatVersionDiff } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useList, useNames, useWorkspace } from '../app/workspace'
import { Button, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { t } from '../text'
import { words } from '../text/chats'

/** Makes the draft, or an earlier version, what visitors get. It first shows what that changes. */
export function Publish({ chat, version = 'draft', onClose }: { chat: ChatTemplate; version?: string; onClose: () => void }) {
  const workspace = useWorkspace()
  const before = chat.published_version_id
  const publish = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.chatTemplates.versions.publish(chat.id, version, {
      ...(v.reason && { reason: v.reason }), expected_published_version_id: before,
    }, { workspace }),
    onSuccess: async (now) => {
      toast(words.versionIsPublished(now.published_version ?? ''), before && before !== now.published_version_id ? async () => {
        await atrium.chatTemplates.versions.publish(chat.id, before, { reason: t.undoneReason }, { workspace })
        await queries.invalidateQueries()
      } : undefined)
      onClose()
      await queries.invalidateQueries()
    },
  })
  return (
    <Dialog open wide onClose={onClose} title={version === 'draft' ? words.publishTheDraft : words.publishAgain(version)}>
      {before
        ? <Changes id={chat.id} version={version} />
        : <p className="mt-0">{words.sitesThatEmbedThe}</p>}
      <div className="mt-4">
        <Form send={words.publish} busy={publish.isPending} onSend={(v) => publish.mutate(v)}>
          <Input name="reason" label={t.why} hint={words.forTheHistoryYou} maxLength={500} />
          <Problem error={publish.error} />
        </Form>
      </div>
    </Dialog>
  )
}

/** What differs between the published version and another one. */
function Changes({ id, version }: { id: string; version: string }) {
  const workspace = useWorkspace()
  const diff = useQuery({
    queryKey: ['chat-diff', id, version], queryFn: () => atrium.chatTemplates.versions.diff(id, version, {}, { workspace }),
  })
  if (!diff.data) return diff.error ? <Problem error={diff.error} /> : <Loading />
  return <Differences diff={diff.data} />
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function Differences({ diff }: { diff: ChatVersionDiff }) {
  if (diff.changed_fields.length === 0) return <p className="mt-0 text-soft">{words.nothingDiffersFromWhat}</p>
  return (
    <>
      {diff.changes.length > 0 && (
        <Table
          label={words.changes} items={diff.changes} id={(c) => c.field}
          columns={[
            { title: t.what, narrow: true, cell: (c) => c.field.replaceAll('_', ' ') },
            { title: words.publishedAgainstAgainst(diff.against), cell: (c) => <span className="break-words text-bad">{shown(c.from) || '–'}</span> },
            { title: diff.version === 'draft' ? words.theDraft : diff.version, cell: (c) => <span className="break-words text-ok">{shown(c.to) || '–'}</span> },
          ]}
        />
      )}
      {diff.unified && (
        <pre tabIndex={0} aria-label={words.changesOfTheInstructions} className="max-h-72 overflow-auto rounded-md border border-line p-2 text-xs">{diff.unified}</pre>
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
      {list.items.length === 0 && <p className="text-soft">{words.nothingHasBeenPublished}</p>}
      <ol className="m-0 list-none border-s-2 border-line p-0 ps-4">
        {list.items.map((p) => (
          <li key={p.published_at + p.to_version_id} className="mb-4">
            <b>{words.versionToVersionNumber(p.to_version_number)}</b> {p.from_version_number !== null && <>{words.afterVersion(p.from_version_number)}</>}{' '}
            {p.to_version_id === chat.published_version_id && <Pill tone="ok">{words.published}</Pill>}{' '}
            <span className="text-soft"><When at={p.published_at} /> · <span title={p.published_by}>{names(p.published_by)}</span></span>
            {manages && p.to_version_id !== chat.published_version_id && (
              <> <Button tone="quiet" onClick={() => setAgain(`v${p.to_version_number}`)}>{words.publishVersionAgain(p.to_version_number)}</Button></>
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
