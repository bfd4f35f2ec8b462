import { type CancellationFeedback, type Discount, type Plan, type Subscription } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { Button, Card, Pill, Problem, When } from '../ui/basics'
import { Form, Select, TextArea } from '../ui/form'
import { Confirm, Dialog } from '../ui/overlays'
import { t } from '../text'
import { words } from '../text/billing'
import { Confirmation } from './billing-cards'
import { Change } from './billing-change'
import { money } from './billing-money'

const reasons: { value: CancellationFeedback | ''; label: string }[] = [
  { value: '', label: words.iWouldRatherNot }, { value: 'too_expensive', label: words.itIsTooExpensive },
  { value: 'missing_features', label: words.featuresAreMissing }, { value: 'switched_service', label: words.weUseAnotherService },
  { value: 'unused', label: words.weDoNotUse }, { value: 'customer_service', label: words.theCustomerService },
  { value: 'too_complex', label: words.itIsTooComplex }, { value: 'low_quality', label: words.theQuality }, { value: 'other', label: words.somethingElse },
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
      title={<>{s.quantity > 1 && `${s.quantity} × `}{s.plan?.name ?? words.aPlanThatIs} <Pill tone={tone(s)}>{s.paused ? words.paused : s.status.replace('_', ' ')}</Pill></>}
      actions={manages && <Actions subscription={s} onDone={onDone} />}
    >
      {s.stale && <p className="mt-0 text-warn">{words.thePaymentProviderDoes}</p>}
      {manages && s.action && <Confirmation subscription={s} onDone={onDone} />}
      {(s.status === 'past_due' || s.status === 'unpaid') && (
        <p role="alert" className="mt-0 text-bad">{words.theLastPaymentFailed}</p>
      )}
      <p className="m-0"><Period subscription={s} /></p>
      {s.items.filter((i) => i.kind === 'add_on' || i.kind === 'other').map((i, n) => (
        <p key={n} className="m-0 mt-1">
          {i.quantity} × {i.name ?? words.anotherItem} <span className="text-soft">({money(i.unit_price)} {words.per(i.interval_count, i.interval)})</span>
        </p>
      ))}
      {[s.pending_change, ...s.later_changes].map((change) => change && (
        <p key={change.at} className="m-0 mt-1">
          {words.from} <When at={change.at} /> {words.onQuantityQuantity(change.quantity)} {plans.find((p) => p.id === change.plan_id)?.name ?? change.plan_id ?? words.aPlanThatIs}
        </p>
      ))}
      {s.discount && <p className="m-0 mt-1">{words.discount} <Reduction of={s.discount} /></p>}
      {s.credit && s.credit.amount > 0 && <p className="m-0 mt-1">{words.creditDeductedFromThe(money(s.credit))}</p>}
    </Card>
  )
}

function Period({ subscription: s }: { subscription: Subscription }) {
  if (s.paused) return <>{words.itsPeriodsCostNothing} <When at={s.paid_until} />.</>
  if (s.ends_at) return <>{words.theSubscriptionEnds} <When at={s.ends_at} />.</>
  if (s.trial_end && Date.parse(s.trial_end) > Date.now()) return <>{words.theTrialEnds} <When at={s.trial_end} />.</>
  return <>{words.theNextPeriodBegins} <When at={s.current_period_end} />.</>
}

function Reduction({ of: d }: { of: Discount }) {
  return (
    <>
      {d.percent_off !== null ? `${d.percent_off} %` : d.amount_off && money(d.amount_off)}
      {d.name && ` (${d.name})`}{d.duration === 'once' ? words.once : d.ends_at && <>{words.until} <When at={d.ends_at} /></>}
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
      {changeable(s) && s.plan && <Button onClick={() => setOpen('change')}>{words.changeDialog}</Button>}
      {s.paused ? <Button disabled={update.isPending} onClick={() => update.mutate({ paused: false })}>{words.resume}</Button>
        : s.status === 'active' && !s.plan?.metered_price && !s.cancel_at_period_end && (
          <Confirm
            label={words.pause} title={words.pauseTheSubscription} act={words.pause} tone="act"
            body={words.whatWasPaidCan}
            run={() => atrium.payments.subscription.update({ paused: true }, o).then(onDone)}
          />
        )}
      {s.cancel_at_period_end
        ? <Button disabled={update.isPending} onClick={() => update.mutate({ cancel_at_period_end: false })}>{words.keepTheSubscription}</Button>
        : unpaid ? (
          <Confirm
            label={t.end} title={words.endTheSubscription} act={words.endItNow} body={words.itHasNotBeen}
            run={() => atrium.payments.subscription.cancel({}, o).then(onDone)}
          />
        ) : <Button tone="quiet" onClick={() => setOpen('cancel')}>{words.cancelDialog}</Button>}
      {open === undefined && <Problem error={update.error} />}
      {open === 'change' && s.plan && <Change plan={s.plan} subscription={s} onClose={close} onDone={onDone} />}
      {open === 'cancel' && (
        <Dialog open onClose={close} title={words.cancelTheSubscription}>
          <Form
            send={words.cancelAtTheEnd} busy={update.isPending}
            onSend={({ feedback, comment }) => update.mutate({
              cancel_at_period_end: true, ...(feedback && { cancellation_feedback: feedback as CancellationFeedback }),
              ...(comment && { cancellation_comment: comment }),
            }, { onSuccess: close })}
          >
            <p className="m-0 mb-3">{words.thePlanCanBe} <When at={s.current_period_end} />{words.untilThenYouCan}</p>
            <Select name="feedback" label={words.whyDoYouCancel} choices={reasons} />
            <TextArea name="comment" label={words.whatCouldBeBetter} maxLength={1000} />
            <Problem error={update.error} />
          </Form>
        </Dialog>
      )}
    </>
  )
}
