import type { ActivationRequest } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useList, useMe, useNames, useWorkspace } from '../app/workspace'
import { Button, Card, Loading, Pill, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { More } from '../ui/table'
import { t } from '../text'
import { words } from '../text/prompts'
import { CheckState } from './prompt-outcomes'

const causes: Record<string, string> = {
  withdrawn: words.itWasWithdrawn, base_moved: words.anotherVersionBecameActive, version_changed: words.theVersionWasEdited,
  access_lost: words.itsAuthorMayNot, template_deleted: words.thePromptWasDeleted,
  contract_break: words.theVersionBreaksWhat, include_lost: words.theIncludeWasLost,
  limit_reached: words.noLabelOrRolloutFits, expired: words.itWaitedFor30,
}
const tones: Record<string, 'ok' | 'warn' | 'bad'> = { waiting: 'warn', activated: 'ok', refused: 'bad' }

/** What a request still waits for, as people read it. */
function waiting(r: ActivationRequest): string {
  const given = r.decisions.filter((d) => d.approves).length
  return [
    ...(r.waits_for.includes('approvals') ? [words.moreOfApprovals(r.approvals_required - given, r.approvals_required)] : []),
    ...(r.waits_for.includes('checks') ? [words.theChecks(r.missing_checks.join(', '))] : []),
    ...(r.waits_for.includes('time') && r.activate_at ? [new Date(r.activate_at).toLocaleString()] : []),
  ].join(', and ')
}

/** The activations that wait, and those that waited. */
export function Requests({ id, manages }: { id: string; manages: boolean }) {
  const workspace = useWorkspace()
  const list = useList(['requests', id], (cursor) => atrium.promptTemplates.activationRequests.list(id, { limit: 20, ...(cursor && { cursor }) }, { workspace }))
  if (list.isPending) return <Loading />
  return (
    <>
      <Problem error={list.error} />
      {list.items.length === 0 && <p className="text-soft">{words.noActivationHasHad}</p>}
      {list.items.map((r) => <Request key={r.id} request={r} manages={manages} />)}
      <More list={list} />
    </>
  )
}

function Request({ request: r, manages }: { request: ActivationRequest; manages: boolean }) {
  const workspace = useWorkspace()
  const names = useNames()
  const me = useMe()
  const [shown, setShown] = useState(false)
  const own = me.data?.user.id === r.requested_by
  const o = { workspace }
  const details = useQuery({
    queryKey: ['request', r.id, r.revision], enabled: shown,
    queryFn: () => atrium.promptTemplates.activationRequests.get(r.prompt_template_id, r.id, o),
  })
  const act = useMutation({
    mutationFn: ({ how, comment }: { how: 'approve' | 'refuse' | 'cancel'; comment: string }) => {
      const requests = atrium.promptTemplates.activationRequests
      if (how === 'cancel') return requests.cancel(r.prompt_template_id, r.id, o)
      return requests[how](r.prompt_template_id, r.id, comment ? { comment } : {}, o)
    },
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <Card title={<>{words.versionNumberNumber(r.version.number)}{r.label !== null && words.forTheLabel(r.label)}{r.base_version_number !== null && words.insteadOfVersion(r.base_version_number)} <Pill tone={tones[r.state] ?? 'plain'}>{r.state}</Pill></>}>
      <p className="mt-0">
        <span title={r.requested_by}>{names(r.requested_by)}</span> <span className="text-soft"><When at={r.created_at} /></span>
        {r.reason && <>: {r.reason}</>}
      </p>
      {r.weights && <p>{words.rolledOut} {r.weights.map((w) => words.versionOfTheReaders(w.version_number, w.weight)).join(', ')}</p>}
      {r.state === 'waiting' && <p>{words.waitsFor} {waiting(r)}.</p>}
      {r.cause && <p className="text-soft">{causes[r.cause]}</p>}
      <ul className="m-0 list-none p-0">
        {r.decisions.map((d) => (
          <li key={d.user_id}>
            <span title={d.user_id}>{names(d.user_id)}</span> {d.approves ? words.approved : words.refused} <span className="text-soft"><When at={d.decided_at} /></span>
            {d.comment && <>: {d.comment}</>}
          </li>
        ))}
      </ul>
      <Button tone="quiet" aria-expanded={shown} onClick={() => setShown(!shown)}>{shown ? words.hideChanges : words.showChanges}</Button>
      {shown && (details.data
        ? <pre className="overflow-auto rounded-md border border-line p-3 text-xs" tabIndex={0}>{details.data.diff?.unified || words.thereIsNothingTo}</pre>
        : details.error ? <Problem error={details.error} /> : <Loading />)}
      {r.state === 'waiting' && !own && (
        <Form
          send={words.approve} busy={act.isPending} onSend={(v) => act.mutate({ how: 'approve', comment: v.comment ?? '' })}
          more={<Button type="button" tone="danger" disabled={act.isPending} onClick={(e) => {
            const { form } = e.currentTarget
            if (form) act.mutate({ how: 'refuse', comment: String(new FormData(form).get('comment')) })
          }}>{t.bankNo}</Button>}
        >
          <Input name="comment" label={words.comment} maxLength={500} />
        </Form>
      )}
      <Problem error={act.error} />
      {r.state === 'waiting' && (own || manages) && <Button disabled={act.isPending} onClick={() => act.mutate({ how: 'cancel', comment: '' })}>{words.cancelTheRequest}</Button>}
    </Card>
  )
}

/** The checks of a version, in the dialog that activates it. */
export function Checks({ id, version, required }: { id: string; version: string; required: string[] }) {
  const workspace = useWorkspace()
  const checks = useQuery({
    queryKey: ['checks', id, version], queryFn: () => atrium.promptTemplates.versions.checks.list(id, version, { workspace }),
  })
  const found = checks.data?.data ?? []
  const names = [...new Set([...required, ...found.map((c) => c.name)])]
  if (names.length === 0) return null
  return (
    <>
      <h3 className="mb-1 text-sm font-semibold">{words.checks}</h3>
      <ul className="m-0 mb-3 list-none p-0">
        {names.map((name) => {
          const c = found.find((x) => x.name === name)
          return (
            <li key={name}>
              <CheckState check={c} isRequired={required.includes(name)} />{' '}
              {name}{required.includes(name) && t.andRequired} {c?.url && <a href={c.url} rel="noreferrer" target="_blank">{t.report}</a>} {c?.summary && <span className="text-soft">{c.summary}</span>}
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** The chats that could not reply if a version were active, in the dialog that activates it. */
export function Unfilled({ id, version }: { id: string; version: string }) {
  const workspace = useWorkspace()
  const check = useQuery({
    queryKey: ['activation-check', id, version], queryFn: () => atrium.promptTemplates.versions.checkActivation(id, version, { workspace }),
  })
  const chats = check.data?.chats_missing_variables ?? []
  if (chats.length === 0) return <Problem error={check.error} />
  return (
    <div role="alert" className="mb-3 text-warn">
      <p className="m-0">{check.data?.complete ? words.theseChatsCannotReply : words.theseAndMoreChatsCannotReply}</p>
      <ul className="m-0">
        {chats.map((c) => <li key={c.id}><Link to={`/w/${workspace}/chats/${c.id}` as string}>{c.name}</Link>{c.variables.length > 0 && `: ${c.variables.join(', ')}`}</li>)}
      </ul>
    </div>
  )
}
