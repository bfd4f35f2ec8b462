import { type CancellationFeedback, type Discount, type Plan, type Subscription } from '@atrium-hq/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium } from '../api'
import { useWorkspace } from '../app/workspace'
import { Button, Card, Pill, Problem, When } from '../ui/basics'
import { Form, Select, TextArea } from '../ui/form'
import { Confirm, Dialog } from '../ui/overlays'
import { Confirmation } from './billing-cards'
import { Change } from './billing-change'
import { money } from './billing-money'

const reasons: { value: CancellationFeedback | ''; label: string }[] = [
  { value: '', label: 'I would rather not say' }, { value: 'too_expensive', label: 'It is too expensive' },
  { value: 'missing_features', label: 'Features are missing' }, { value: 'switched_service', label: 'We use another service' },
  { value: 'unused', label: 'We do not use it' }, { value: 'customer_service', label: 'The customer service' },
  { value: 'too_complex', label: 'It is too complex' }, { value: 'low_quality', label: 'The quality' }, { value: 'other', label: 'Something else' },
]

function tone(s: Subscription) {
  if (!s.entitled) return 'bad'
  return s.status === 'past_due' || s.paused ? 'warn' : 'ok'
}

/** Whether a subscription can be changed: the server refuses other plans while it is paused or not paid. */
export const changeable = (s: Subscription) => !s.paused && (s.status === 'active' || s.status === 'trialing')

export function SubscriptionCard({ subscription: s, plans, manages, onDone }: {
  subscription: Subscription
  plans: Plan[]
  manages: boolean
  onDone: () => unknown
}) {
  return (
    <Card
      title={<>{s.quantity > 1 && `${s.quantity} × `}{s.plan?.name ?? 'A plan that is no longer offered'} <Pill tone={tone(s)}>{s.paused ? 'paused' : s.status.replace('_', ' ')}</Pill></>}
      actions={manages && <Actions subscription={s} onDone={onDone} />}
    >
      {s.stale && <p className="mt-0 text-warn">The payment provider does not answer now. This is the last known state.</p>}
      {manages && s.action && <Confirmation subscription={s} onDone={onDone} />}
      {(s.status === 'past_due' || s.status === 'unpaid') && (
        <p role="alert" className="mt-0 text-bad">The last payment failed. Check the payment method, then pay the open invoice below.</p>
      )}
      <p className="m-0"><Period subscription={s} /></p>
      {s.pending_change && (
        <p className="m-0 mt-1">
          From <When at={s.pending_change.at} /> on: {s.pending_change.quantity} × {plans.find((p) => p.id === s.pending_change?.plan_id)?.name ?? s.pending_change.plan_id}
        </p>
      )}
      {s.discount && <p className="m-0 mt-1">Discount: <Reduction of={s.discount} /></p>}
      {s.credit && s.credit.amount > 0 && <p className="m-0 mt-1">Credit: {money(s.credit)}, deducted from the next invoices</p>}
    </Card>
  )
}

function Period({ subscription: s }: { subscription: Subscription }) {
  if (s.paused) return <>Its periods cost nothing. What was paid can be used until <When at={s.paid_until} />.</>
  if (s.cancel_at_period_end) return <>The subscription ends <When at={s.current_period_end} />.</>
  if (s.trial_end && Date.parse(s.trial_end) > Date.now()) return <>The trial ends <When at={s.trial_end} />.</>
  return <>The next period begins <When at={s.current_period_end} />.</>
}

function Reduction({ of: d }: { of: Discount }) {
  return (
    <>
      {d.percent_off !== null ? `${d.percent_off} %` : d.amount_off && money(d.amount_off)}
      {d.name && ` (${d.name})`}{d.duration === 'once' ? ', once' : d.ends_at && <>, until <When at={d.ends_at} /></>}
    </>
  )
}

function Actions({ subscription: s, onDone }: { subscription: Subscription; onDone: () => unknown }) {
  const o = { workspace: useWorkspace() }
  const [open, setOpen] = useState<'change' | 'cancel'>()
  const close = () => setOpen(undefined)
  const update = useMutation({
    mutationFn: (body: Parameters<typeof atrium.payments.subscription.update>[0]) => atrium.payments.subscription.update(body, o),
    onSuccess: onDone,
  })
  const unpaid = s.status !== 'active' && s.status !== 'trialing'
  return (
    <>
      {changeable(s) && s.plan && <Button onClick={() => setOpen('change')}>Change…</Button>}
      {s.paused ? <Button disabled={update.isPending} onClick={() => update.mutate({ paused: false })}>Resume</Button>
        : s.status === 'active' && !s.plan?.metered_price && !s.cancel_at_period_end && (
          <Confirm
            label="Pause" title="Pause the subscription" act="Pause" tone="act"
            body="What was paid can be used until the period ends. After that nothing is charged, and the plan cannot be used, until you resume."
            run={() => atrium.payments.subscription.update({ paused: true }, o).then(onDone)}
          />
        )}
      {s.cancel_at_period_end
        ? <Button disabled={update.isPending} onClick={() => update.mutate({ cancel_at_period_end: false })}>Keep the subscription</Button>
        : unpaid ? (
          <Confirm
            label="End" title="End the subscription" act="End it now" body="It has not been paid, so it ends at once. Nothing is refunded."
            run={() => atrium.payments.subscription.cancel({}, o).then(onDone)}
          />
        ) : <Button tone="quiet" onClick={() => setOpen('cancel')}>Cancel…</Button>}
      {open === undefined && <Problem error={update.error} />}
      {open === 'change' && s.plan && <Change plan={s.plan} subscription={s} onClose={close} onDone={onDone} />}
      {open === 'cancel' && (
        <Dialog open onClose={close} title="Cancel the subscription">
          <Form
            send="Cancel at the end of the period" busy={update.isPending}
            onSend={({ feedback, comment }) => update.mutate({
              cancel_at_period_end: true, ...(feedback && { cancellation_feedback: feedback as CancellationFeedback }),
              ...(comment && { cancellation_comment: comment }),
            }, { onSuccess: close })}
          >
            <p className="m-0 mb-3">The plan can be used until the period that was paid ends, <When at={s.current_period_end} />. Until then you can change your mind.</p>
            <Select name="feedback" label="Why do you cancel?" choices={reasons} />
            <TextArea name="comment" label="What could be better?" maxLength={1000} />
            <Problem error={update.error} />
          </Form>
        </Dialog>
      )}
    </>
  )
}
