import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { TYPING, useShown } from '../app/shown'
import { firstPage, useList, useNames, useWorkspace } from '../app/workspace'
import { Button, Copy, Empty, Loading, Problem, When } from '../ui/basics'
import { Input } from '../ui/form'
import { More, Table } from '../ui/table'
import { t } from '../text'
import { words } from '../text/settings'

/** A local time as the API has it. An address can have what is none. */
const instant = (local: string) => (Number.isNaN(Date.parse(local)) ? '' : new Date(local).toISOString())

/** The screens of things, by the prefix of their ids, and the list that has their names. */
const things: Record<string, { screen: (id: string) => { to: string; search?: { open: string } }; list: (o: { workspace: string }) => PromiseLike<Named> }> = {
  ptpl: { screen: (id) => ({ to: `prompts/${id}` }), list: (o) => atrium.promptTemplates.list({ limit: 100 }, o) },
  ctpl: { screen: (id) => ({ to: `chats/${id}` }), list: (o) => atrium.chatTemplates.list({ limit: 100 }, o) },
  src: { screen: (id) => ({ to: `sources/${id}` }), list: (o) => atrium.dataSources.list({ limit: 100 }, o) },
  grp: { screen: (id) => ({ to: 'settings/groups', search: { open: id } }), list: (o) => atrium.groups.list({ limit: 100 }, o) },
}

interface Named { data: { id: string; name: string }[]; next_cursor: string | null }

/** What an event is about, as a link if it has a screen that the person can open. */
function Subject({ id }: { id: string }) {
  const workspace = useWorkspace()
  const thing = things[id.split('_')[0]!]
  const list = useQuery({
    queryKey: ['named', id.split('_')[0], workspace], enabled: !!thing, staleTime: 60_000, queryFn: () => firstPage(thing!.list({ workspace })),
  })
  const name = list.data?.data.find((x) => x.id === id)?.name
  const text = name ?? <code className="text-xs break-all">{id}</code>
  // What is in no list was deleted, or is not shown to this person. Of a long list, only the first page is known.
  if (!thing || !list.data || !name && list.data.next_cursor === null) return text
  const { to, search } = thing.screen(id)
  return <Link to={`/w/${workspace}/${to}` as string} search={search as never} title={id}>{text}</Link>
}

export function Audit() {
  const workspace = useWorkspace()
  const names = useNames()
  const filter = {
    type: useShown('type', '', TYPING), subject: useShown('subject', '', TYPING), actor: useShown('actor', '', TYPING),
    request_id: useShown('request_id', '', TYPING), created_after: useShown('created_after'), created_before: useShown('created_before'),
  }
  const given = Object.fromEntries(Object.entries(filter).flatMap(([name, [, , asked]]) => {
    const value = name.startsWith('created') ? instant(asked) : asked.trim()
    return value ? [[name, value]] : []
  }))
  const list = useList(['events', workspace, given], (cursor) => atrium.events.list({ limit: 50, ...given, ...(cursor && { cursor }) }, { workspace }), undefined, true)
  const types = useQuery({
    queryKey: ['event-types'], staleTime: Infinity, queryFn: () => firstPage(atrium.events.types.list()).then((all) => all.data),
  })
  const input = (name: keyof typeof filter, label: string, placeholder?: string) => (
    <div className="w-56 max-sm:w-full"><Input name={name} label={label} placeholder={placeholder} type={placeholder ? 'text' : 'datetime-local'} value={filter[name][0]} list={name === 'type' ? 'event-types' : undefined} onChange={(e) => filter[name][1](e.target.value)} /></div>
  )
  return (
    <>
      <Verification workspace={workspace} />
      <datalist id="event-types">{types.data?.map((x) => <option key={x.type} value={x.type}>{x.summary}</option>)}</datalist>
      <div className="flex flex-wrap gap-3">
        {input('type', t.type, 'prompt_template.activated')}
        {input('subject', words.about, words.idOfTheResource)}
        {input('actor', words.by, words.idOfThePerson)}
        {input('request_id', words.request, words.idOfTheRequest)}
        {input('created_after', words.after)}
        {input('created_before', words.before)}
      </div>
      <Problem error={list.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <Empty title={words.noEventMatches} />}
      {list.items.length > 0 && (
        <Table
          label={t.auditTrail} items={list.items} id={(e) => e.id} csv="audit-trail"
          columns={[
            { title: t.when, narrow: true, text: (e) => e.created_at, cell: (e) => <When at={e.created_at} /> },
            { title: t.what, narrow: true, text: (e) => e.type, cell: (e) => <code className="text-xs">{e.type}</code> },
            { title: words.about, text: (e) => e.subject, cell: (e) => <Subject id={e.subject} /> },
            { title: words.by, text: (e) => e.actor ?? '', cell: (e) => <span className="break-words" title={e.actor ?? undefined}>{e.actor ? names(e.actor) : words.theSystem}</span> },
            {
              title: words.details, text: (e) => JSON.stringify(e.data),
              cell: (e) => (
                <details>
                  <summary className="cursor-default text-act">{t.show}</summary>
                  <pre className="m-0 max-w-md text-xs break-words whitespace-pre-wrap">{JSON.stringify({ ...e.data, subject: e.subject, request_id: e.request_id, address: e.address }, null, 2)}</pre>
                </details>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

/** verifyAll verifies the whole trail, part by part, and tells how many events it has checked. */
async function verifyAll(workspace: string, tell: (checked: number) => void) {
  let checked = 0
  const sum = { verified: 0, broken: 0, breaks: [] as { seq: number; event_id: string | null; reason: string }[] }
  for (let after = '0'; ;) {
    const part = await atrium.events.verify({ after }, { workspace })
    sum.verified += part.verified
    sum.broken += part.broken
    sum.breaks.push(...part.breaks)
    checked += part.verified + part.waiting + part.unsigned + part.broken
    tell(checked)
    if (part.next_after === null) return { ...sum, last_seq: part.last_seq, last_hash: part.last_hash }
    after = part.next_after
  }
}

function Verification({ workspace }: { workspace: string }) {
  const [verified, setVerified] = useState(0)
  const verify = useMutation({ mutationFn: () => verifyAll(workspace, setVerified) })
  const found = verify.data
  return (
    <div className="mb-4 flex flex-wrap items-center gap-3" role="status">
      <Button disabled={verify.isPending} onClick={() => verify.mutate()}>
        {verify.isPending ? words.verifyingVerifiedVerified(verified.toLocaleString()) : words.verifyTheTrail}
      </Button>
      {found && found.broken === 0 && (
        <span className="text-sm text-ok">
          {words.eventsAreAsThey(found.verified.toLocaleString(), found.last_seq.toLocaleString())}
          {found.last_hash && <> {words.itsHash} <code className="text-xs break-all">{found.last_hash.slice(0, 16)}…</code> <Copy text={found.last_hash} /></>}
        </span>
      )}
      {found && found.broken > 0 && (
        <div className="w-full text-sm text-bad">
          <p className="m-0">{words.theTrailDoesNot(found.broken.toLocaleString())}</p>
          <ul className="m-0 mt-1 list-disc ps-5">
            {found.breaks.map((b, i) => <li key={i}>{words.atSeqSeq(b.seq)} {b.event_id && <code className="text-xs break-all">{b.event_id}</code>}: {b.reason}</li>)}
          </ul>
        </div>
      )}
      <Problem error={verify.error} />
    </div>
  )
}
