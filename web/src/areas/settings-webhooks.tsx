import type { Webhook } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useShown } from '../app/shown'
import { useCreating, useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { About, Button, Card, Empty, fieldErrors, Loading, Pill, Problem, Secret, When } from '../ui/basics'
import { Form } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { Table } from '../ui/table'
import { eventsOf, OneWebhook, WebhookFields } from './settings-webhook'

const why: Record<string, string> = {
  gone: words.itsUrlAnswered410,
  failing: words.noDeliverySucceededFor,
}

export function Webhooks() {
  const workspace = useWorkspace()
  const o = { workspace }
  const [shown, setShown] = useShown('open')
  const [creating, setCreating] = useCreating()
  const list = useList(['webhooks', workspace], () => atrium.webhooks.list({}, o))
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks', workspace] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.webhooks.create({
      url: v.url ?? '', description: v.description ?? '', events: eventsOf(v.events),
    }, o),
    onSuccess: () => { setCreating(false); return refresh() },
  })
  const wrong = fieldErrors(create.error)
  const open = list.items.find((w) => w.id === shown)
  return (
    <>
      <About
        actions={<Button tone="act" data-key="c" onClick={() => { create.reset(); setCreating(true) }}><AddIcon size={16} aria-hidden="true" />{t.newWebhook}</Button>}
      >
        {words.aWebhookSendsThe}
      </About>
      <Problem error={list.error} />
      {create.data && (
        <Card title={words.theNewWebhook}><Secret value={create.data.secret} hint={words.thisSecretSignsThe} /></Card>
      )}
      {list.isPending && <Loading />}
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={words.thereAreNoWebhooks}>{words.deliveriesAreInOrder}</Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label={t.failingWebhooksLook} items={list.items} id={(w) => w.id} csv="webhooks"
          columns={[
            {
              title: words.url, text: (w) => w.url,
              cell: (w) => <><span className="font-medium break-all">{w.url}</span>{w.description && <span className="block text-xs text-soft">{w.description}</span>}</>,
            },
            { title: words.events, text: (w) => w.events.join(' '), cell: (w) => <code className="text-xs break-words">{w.events.join(', ')}</code> },
            { title: t.status, text: (w) => w.status, cell: (w) => <Status webhook={w} /> },
            { title: words.delivered, narrow: true, text: (w) => w.last_success_at ?? '', cell: (w) => <When at={w.last_success_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (w) => (
                <>
                  <Button tone="quiet" onClick={() => setShown(w.id)}>{words.open}</Button>
                  {w.ownerless && (
                    <Confirm
                      label={words.confirm} title={words.ownName(w.url)} act={words.confirm} tone="act" body={words.youBecomeItsOwner}
                      run={() => atrium.webhooks.confirm(w.id, o).then(refresh)}
                    />
                  )}
                  <Confirm
                    label={t.delete} title={words.deleteNameName(w.url)} act={t.delete} body={words.itGetsNoMore}
                    run={() => atrium.webhooks.delete(w.id, o).then(refresh)}
                  />
                </>
              ),
            },
          ]}
        />
      )}
      {open && <Dialog open wide onClose={() => setShown('', true)} title={open.url}><OneWebhook webhook={open} changed={refresh} /></Dialog>}
      {creating && (
        <Dialog open onClose={() => setCreating(false)} title={t.newWebhook}>
          <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
            <WebhookFields wrong={wrong} />
            <Problem error={create.error} />
          </Form>
        </Dialog>
      )}
    </>
  )
}

function Status({ webhook }: { webhook: Webhook }) {
  const tone = webhook.status === 'active' ? 'ok' : webhook.status === 'failing' ? 'bad' : 'plain'
  return (
    <>
      <Pill tone={tone}>{webhook.status}</Pill>{' '}
      {webhook.ownerless && <><Pill tone="warn">{words.noOwner}</Pill><span className="block text-xs text-warn">{words.itsOwnerLostThe}</span></>}
      {webhook.status === 'failing' && <span className="block text-xs text-bad">{words.failuresSince(webhook.consecutive_failures)} <When at={webhook.failing_since} /></span>}
      {webhook.disabled_reason && <span className="block text-xs text-soft">{why[webhook.disabled_reason] ?? webhook.disabled_reason}</span>}
    </>
  )
}
