import type { EventType, Webhook, WebhookAttempt } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { Button, fieldErrors, Loading, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, InlineSelect, Input } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'

/** How long a former secret still signs after a rotation, in seconds. */
const grace = 86_400

/** Types of events as people type them: separated by commas or spaces. */
export const eventsOf = (typed: string | undefined) => (typed ?? '').split(/[\s,]+/).filter(Boolean)

export function WebhookFields({ webhook, wrong }: { webhook?: Webhook; wrong: Record<string, string> }) {
  return (
    <>
      <Input name="url" label={words.url} type="url" required maxLength={1000} placeholder={words.exampleUrl} defaultValue={webhook?.url} error={wrong.url} />
      <Input
        name="events" label={words.events} required placeholder={words.exampleEvents} defaultValue={webhook?.events.join(' ')}
        hint={words.typesOfEventsMember} error={wrong.events}
      />
      <Input name="description" label={t.description} maxLength={500} defaultValue={webhook?.description} error={wrong.description} />
    </>
  )
}

/** One webhook: its settings, its secret, an example to send, and what it was sent. */
export function OneWebhook({ webhook, changed }: { webhook: Webhook; changed: () => Promise<void> }) {
  const o = { workspace: useWorkspace() }
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.webhooks.update(webhook.id, {
      url: v.url ?? webhook.url, description: v.description ?? '', events: eventsOf(v.events),
    }, o),
    onSuccess: changed,
  })
  const enable = useMutation({
    mutationFn: (enabled: boolean) => atrium.webhooks.update(webhook.id, { enabled }, o), onSuccess: changed,
  })
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <Deliveries webhook={webhook} />
      <Example webhook={webhook} />
      <h3 className="mt-6 mb-2 font-semibold">{t.settings}</h3>
      <Form
        key={webhook.revision} send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}
        more={(
          <>
            <Button disabled={enable.isPending} onClick={() => enable.mutate(!webhook.enabled)}>{webhook.enabled ? t.disable : t.enable}</Button>
            <Confirm
              label={words.rotateTheSecret} title={words.rotateTheSecret} act={t.rotate} tone="act"
              body={words.requestsHaveTheSignatures}
              run={() => atrium.webhooks.rotate(webhook.id, { grace_seconds: grace }, o).then(async (made) => {
                setSecret(made.secret)
                await changed()
              })}
            />
          </>
        )}
      >
        <WebhookFields webhook={webhook} wrong={fieldErrors(save.error)} />
        <Problem error={save.error ?? enable.error} />
      </Form>
      {secret && <div className="mt-4"><Secret value={secret} hint={words.thisSecretSignsFrom} /></div>}
    </>
  )
}

function Deliveries({ webhook }: { webhook: Webhook }) {
  const o = { workspace: useWorkspace() }
  const [state, setState] = useState('')
  const key = ['deliveries', webhook.id]
  const list = useList([...key, state], (cursor) => atrium.webhooks.deliveries.list(webhook.id, {
    limit: 20, ...(state && { state }), ...(cursor && { cursor }),
  }, o), 5000)
  const retry = useMutation({
    mutationFn: (delivery: string) => atrium.webhooks.deliveries.retry(webhook.id, delivery, o),
    onSuccess: () => queries.invalidateQueries({ queryKey: key }),
  })
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="m-0 me-auto font-semibold">{words.deliveries}</h3>
        <InlineSelect
          label={words.whichDeliveries} value={state} onChange={(e) => setState(e.target.value)}
          choices={[{ value: '', label: words.all }, ...['pending', 'delivered', 'failed'].map((s) => ({ value: s, label: s }))]}
        />
      </div>
      <Problem error={list.error ?? retry.error} />
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && <p className="text-soft">{words.thereAreNoneThey}</p>}
      {list.items.length > 0 && (
        <Table
          label={words.deliveries} items={list.items} id={(d) => d.id}
          columns={[
            { title: words.event, cell: (d) => <><code className="break-all">{d.type}</code> <span className="block text-xs text-soft">{d.seq} · {d.subject_id}</span></> },
            { title: t.state, narrow: true, cell: (d) => <Pill tone={d.state === 'delivered' ? 'ok' : d.state === 'failed' ? 'bad' : 'warn'}>{d.state}</Pill> },
            {
              title: words.lastAttempt,
              cell: (d) => (d.last_attempt
                ? <><Outcome attempt={d.last_attempt} /> <span className="block text-xs text-soft">{words.attemptAttemptsAttempts(d.attempts)} <When at={d.last_attempt_at} /></span></>
                : <span className="text-soft">{t.soon}</span>),
            },
            {
              title: t.actions, narrow: true,
              cell: (d) => d.state !== 'delivered' && webhook.enabled &&
                <Button tone="quiet" disabled={retry.isPending} onClick={() => retry.mutate(d.id)}>{words.retryNow}</Button>,
            },
          ]}
        />
      )}
      <More list={list} />
    </>
  )
}

/** Sends the example of a type, and shows how that went. */
function Example({ webhook }: { webhook: Webhook }) {
  const o = { workspace: useWorkspace() }
  const types = useQuery({ queryKey: ['event types'], staleTime: Infinity, queryFn: () => atrium.events.types.list(o) })
  const [type, setType] = useState('prompt_template.activated')
  const test = useMutation({ mutationFn: () => atrium.webhooks.test(webhook.id, { type }, o) })
  return (
    <>
      <h3 className="mt-6 mb-2 font-semibold">{words.sendAnExample}</h3>
      <div className="flex flex-wrap items-center gap-2">
        <InlineSelect
          label={words.typeOfEvent} value={type} onChange={(e) => setType(e.target.value)}
          choices={(types.data?.data ?? []).map((e: EventType) => ({ value: e.type, label: e.type }))}
        />
        <Button disabled={test.isPending || !types.data} onClick={() => test.mutate()}>{words.send}</Button>
      </div>
      <Problem error={types.error ?? test.error} />
      {test.data && <p role="status"><Outcome attempt={test.data} /></p>}
    </>
  )
}

function Outcome({ attempt }: { attempt: WebhookAttempt }) {
  const what = attempt.status ? `Status ${attempt.status}` : words.noResponse(attempt.failure ?? 'unknown')
  return (
    <>
      <span className={attempt.delivered ? 'text-ok' : 'text-bad'}>{what}</span> <span className="text-soft">{words.afterMs(attempt.duration_ms)}</span>
      {attempt.answer && <code className="block text-xs break-all">{attempt.answer}</code>}
    </>
  )
}
