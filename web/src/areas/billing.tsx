import { type Invoice, type Money, type Plan } from '@atrium-hq/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { firstPage, useList, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { Button, Card, Heading, Loading, Pill, Problem, When } from '../ui/basics'
import { Confirm, Dialog } from '../ui/overlays'
import { Bars } from '../ui/pictures'
import { More, Table } from '../ui/table'
import { Confirmation, Methods } from './billing-cards'

/** An amount in the smallest unit of its currency, as people write it. */
export function money({ amount, currency }: Money): string {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency })
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

export function Billing() {
  const workspace = useWorkspace()
  const may = usePermission()
  const o = { workspace }
  const plans = useQuery({ queryKey: ['plans', workspace], queryFn: () => firstPage(atrium.payments.plans.list(o)).then((p) => p.data) })
  const current = useQuery({
    queryKey: ['subscription', workspace],
    // A workspace without a subscription has entitlements without a status.
    queryFn: async () => ((await atrium.payments.entitlements.get(o)).status ? atrium.payments.subscription.get(o) : null),
  })
  const refresh = () => queries.invalidateQueries()
  const portal = useMutation({
    mutationFn: () => atrium.payments.portalSessions.create({ return_url: location.href }, o),
    onSuccess: (made) => location.assign(made.url),
  })
  const s = current.data
  const manages = may('payments.manage')
  if (plans.isPending || current.isPending) return <Loading />
  return (
    <>
      <Heading title={t.billing}>
        {manages && s && <Button disabled={portal.isPending} onClick={() => portal.mutate()}>Manage cards and details</Button>}
      </Heading>
      <Problem error={plans.error ?? current.error ?? portal.error} />
      {s && (
        <Card
          title={<>{s.plan?.name ?? 'A plan that is no longer offered'} <Pill tone={s.entitled ? 'ok' : 'bad'}>{s.status}</Pill></>}
          actions={manages && !s.cancel_at_period_end && (
            <Confirm
              label="Cancel" title="Cancel the subscription" act="Cancel it at the end of the period"
              body="The plan stays until the period that you have paid for ends."
              run={() => atrium.payments.subscription.cancel({}, o).then(refresh)}
            />
          )}
        >
          {s.stale && <p className="mt-0 text-warn">The payment provider does not answer now. This is the last known state.</p>}
          {manages && s.action && <Confirmation subscription={s} onDone={refresh} />}
          {s.status === 'past_due' && <p role="alert" className="mt-0 text-bad">The last payment failed. Check the card.</p>}
          <p className="m-0">
            {s.trial_end && Date.parse(s.trial_end) > Date.now() ? <>The trial ends <When at={s.trial_end} />.</>
              : <>The period ends <When at={s.current_period_end} />.</>}
            {s.cancel_at_period_end && ' The subscription ends then.'}
          </p>
        </Card>
      )}
      <h2 className="text-base font-semibold">Plans</h2>
      <ul className="m-0 mb-6 grid list-none gap-3 p-0 sm:grid-cols-2 xl:grid-cols-3">
        {plans.data?.map((plan) => <PlanCard key={plan.id} plan={plan} manages={manages} subscribed={!!s} onDone={refresh} />)}
      </ul>
      {manages && <Methods />}
      {manages && <Invoices />}
    </>
  )
}

function PlanCard({ plan, manages, subscribed, onDone }: { plan: Plan; manages: boolean; subscribed: boolean; onDone: () => unknown }) {
  const workspace = useWorkspace()
  const [preview, setPreview] = useState(false)
  const choose = useMutation({
    mutationFn: () => atrium.payments.subscription.create({ plan_id: plan.id }, { workspace }),
    onSuccess: onDone,
  })
  return (
    <li className="flex flex-col rounded-lg border border-line bg-card p-4">
      <p className="m-0 font-semibold">{plan.name} {plan.is_current && <Pill tone="ok">yours</Pill>}</p>
      <p className="m-0 text-lg">{money(plan.price)} <span className="text-sm text-soft">per {plan.interval_count > 1 ? plan.interval_count + ' ' : ''}{plan.interval}{plan.interval_count > 1 ? 's' : ''}</span></p>
      <p className="m-0 grow text-soft">{plan.description}</p>
      <ul className="my-2 list-disc pl-5">{plan.features.map((f) => <li key={f}>{f}</li>)}</ul>
      {plan.trial_days > 0 && !subscribed && <p className="m-0 text-soft">{plan.trial_days} days free</p>}
      {manages && !plan.is_current && plan.available && (
        <Button tone="act" className="mt-2" disabled={choose.isPending} onClick={() => (subscribed ? setPreview(true) : choose.mutate())}>
          {subscribed ? 'Change to this plan…' : 'Subscribe'}
        </Button>
      )}
      <Problem error={choose.error} />
      {preview && <Change plan={plan} onClose={() => setPreview(false)} onDone={onDone} />}
    </li>
  )
}

/** Shows what a change costs, and makes it at that price only. */
function Change({ plan, onClose, onDone }: { plan: Plan; onClose: () => void; onDone: () => unknown }) {
  const workspace = useWorkspace()
  const cost = useQuery({
    queryKey: ['change', plan.id], gcTime: 0,
    queryFn: () => atrium.payments.subscription.preview({ plan_id: plan.id }, { workspace }),
  })
  const change = useMutation({
    mutationFn: () => atrium.payments.subscription.update({ plan_id: plan.id, preview: cost.data!.signature }, { workspace }),
    onSuccess: async () => {
      await onDone()
      onClose()
    },
  })
  return (
    <Dialog open onClose={onClose} title={`Change to ${plan.name}`}>
      <Problem error={cost.error ?? change.error} />
      {cost.isPending && <Loading />}
      {cost.data && (
        <>
          <p>Today: <b>{money(cost.data.due_today)}</b>. At the next renewal: <b>{money(cost.data.due_next)}</b>.</p>
          <Button tone="act" disabled={change.isPending} onClick={() => change.mutate()}>Change the plan</Button>
        </>
      )}
    </Dialog>
  )
}

function Invoices() {
  const workspace = useWorkspace()
  const list = useList(['invoices', workspace], (cursor) => atrium.payments.invoices.list({ limit: 20, ...(cursor && { cursor }) }, { workspace }))
  if (list.items.length === 0) return <Problem error={list.error} />
  const columns = [
    { title: 'Number', cell: (i: Invoice) => i.number ?? '–', text: (i: Invoice) => i.number ?? '', narrow: true },
    {
      title: 'Status', narrow: true, text: (i: Invoice) => i.status,
      cell: (i: Invoice) => <Pill tone={i.status === 'paid' ? 'ok' : i.status === 'open' ? 'warn' : 'plain'}>{i.status}</Pill>,
    },
    { title: 'Total', cell: (i: Invoice) => money(i.total), text: (i: Invoice) => String(i.total.amount), narrow: true },
    { title: 'Made', cell: (i: Invoice) => <When at={i.created_at} />, text: (i: Invoice) => i.created_at, narrow: true },
    { title: t.actions, narrow: true, cell: (i: Invoice) => i.hosted_url && <a href={i.hosted_url} target="_blank" rel="noopener">Show</a> },
  ]
  return (
    <>
      <h2 className="text-base font-semibold">Invoices</h2>
      <Bars
        label="Totals of the invoices, oldest first"
        bars={[...list.items].reverse().filter((i) => i.total.currency === list.items[0]?.total.currency).map((i) => ({
          key: i.id, value: i.total.amount, bad: i.status === 'open' || i.status === 'uncollectible',
          title: `${new Date(i.created_at).toLocaleDateString()}: ${money(i.total)}, ${i.status}`,
        }))}
      />
      <Table label="Invoices" items={list.items} id={(i) => i.id} columns={columns} csv="invoices" />
      <More list={list} />
    </>
  )
}
