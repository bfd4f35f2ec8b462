import { AtriumError, type PromptVersion, type PromptVersionSummary } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { toast } from '../app/toast'
import { useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, Pill, Problem } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Dialog } from '../ui/overlays'
import { Rollouts } from './prompt-rollouts'

/** How applications could fail with a version. */
export function Breaks({ error }: { error: unknown }) {
  const breaks = error instanceof AtriumError ? error.problem.breaks ?? [] : []
  return <ul>{breaks.map((b, i) => <li key={i}><code>{b.name || b.member}</code>: {b.detail}</li>)}</ul>
}

/** What the form asks for. */
type Wish = { label: string; reason: string; percent: number; broken: boolean; name: string; margin: number }

/** Moves one label to a version, or takes one of its labels away. */
export function Labels({ version, versions, onClose }: {
  version: PromptVersion
  versions: PromptVersionSummary[]
  onClose: () => void
}) {
  const workspace = useWorkspace()
  const id = version.prompt_template_id
  const refresh = () => queries.invalidateQueries()
  const put = (label: string, to: string, from: string | null, reason: string, broken = false) =>
    atrium.promptTemplates.labels.move(id, label, {
      version: to, expected_version: from, acknowledge_contract_break: broken, ...(reason && { reason }),
    }, { workspace })
  const divide = (label: string, first: string, percent: number, { reason, broken, name, margin }: Wish) =>
    atrium.promptTemplates.labels.rollOut(id, label, {
      versions: [{ version: first, weight: 100 - percent }, { version: version.id, weight: percent }],
      acknowledge_contract_break: broken, ...(reason && { reason }), ...(name && { feedback: { name, margin } }),
    }, { workspace })
  const take = (label: string) => atrium.promptTemplates.labels.remove(id, label, { expected_version: version.id }, { workspace })
  const move = useMutation({
    mutationFn: async (wish: Wish) => {
      const { label, reason, percent, broken } = wish
      const from = versions.find((v) => v.labels.includes(label))?.id ?? null
      const part = percent > 0 && percent < 100
      const { activation_request: asked } = part
        ? await divide(label, from ?? 'active', percent, wish)
        : await put(label, version.id, from, reason, broken)
      return { label, from, part, asked }
    },
    onSuccess: ({ label, from, part, asked }) => {
      if (asked) {
        onClose()
        toast(words.theLabelWaits(label, asked.waits_for.join(' and ')))
        return
      }
      if (part) return
      onClose()
      toast(words.versionHasTheLabel(version.number, label), async () => {
        await (from === null ? take(label) : put(label, from, version.id, t.undoneReason))
        await refresh()
      })
    },
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: take,
    onSuccess: (_, label) => {
      onClose()
      toast(words.versionNoLongerHas(version.number, label), () => put(label, version.id, null, t.undoneReason).then(refresh))
    },
    onSettled: refresh,
  })
  // A break is acknowledged only for the label that it was found with.
  const broken = AtriumError.is(move.error, 'contract_break') ? move.variables?.label ?? null : null
  return (
    <Dialog open onClose={onClose} title={words.labelsOfVersion(version.number)}>
      {version.labels.length === 0 && <p className="text-soft">{words.thisVersionHasNo}</p>}
      <ul className="m-0 mb-4 list-none p-0">
        {version.labels.map((label) => (
          <li key={label} className="mb-2 flex items-center justify-between gap-3">
            <Pill>{label}</Pill>
            <Button tone="quiet" disabled={remove.isPending} onClick={() => remove.mutate(label)}>{words.removeLabelLabel(label)}</Button>
          </li>
        ))}
      </ul>
      <Problem error={remove.error} />
      <Rollouts id={id} />
      <Form
        send={broken === null ? words.giveTheLabel : words.moveItAllTheSame} busy={move.isPending}
        onSend={(v) => move.mutate({
          label: v.label ?? '', reason: v.reason ?? '', percent: Number(v.percent || 100), broken: broken === v.label,
          name: v.name ?? '', margin: Number(v.margin || 0),
        })}
      >
        <Input name="label" label={words.label} required maxLength={36} pattern="[a-z0-9_.\-]{1,36}" hint={words.anotherVersionThatHas} />
        <Input name="percent" type="number" min={1} max={100} label={words.forPercentOfThe} placeholder="100" hint={words.below100ApplicationsThat} />
        <Input name="name" label={words.compareBy} maxLength={50} pattern="[a-z0-9][a-z0-9_.\-]{0,49}" hint={words.compareByHint} />
        <Input name="margin" type="number" min={0} step="any" label={words.byMargin} placeholder="0" />
        <Input name="reason" label={t.why} maxLength={500} />
        <Problem error={move.error} />
        {broken !== null && <Breaks error={move.error} />}
      </Form>
    </Dialog>
  )
}
