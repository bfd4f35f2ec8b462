import type { Activation } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium } from '../api'
import { useList, useNames, useWorkspace } from '../app/workspace'
import { Button, Loading, Problem, When } from '../ui/basics'
import { InlineSelect } from '../ui/form'
import { Spans } from '../ui/pictures'
import { More } from '../ui/table'
import { t } from '../text'
import { words } from '../text/prompts'

const number = (version: number | null) => (version === null ? words.aDeletedVersion : `v${version}`)

/** Which version was active when, oldest first. The activations come newest first. */
function spans(activations: Activation[]) {
  return activations.map((a, i) => ({
    from: Date.parse(a.activated_at), to: i === 0 ? Date.now() : Date.parse(activations[i - 1]!.activated_at),
    label: a.to_version_id === null ? '–' : number(a.to_version_number),
  })).reverse()
}

/** Where the latest activation of the version of one is. */
const latest = (all: Activation[], a: Activation) => all.findIndex((x) => x.to_version_id === a.to_version_id)

/** Who made which version active, when and why. */
export function Ledger({ id, labels, onAgain }: {
  id: string
  labels: string[]
  /** Makes a version active again, if the person may. */
  onAgain?: (version: number) => void
}) {
  const workspace = useWorkspace()
  const [label, setLabel] = useState('')
  const names = useNames()
  const list = useList(['activations', id, label], (cursor) => atrium.promptTemplates.activations.list(id, { limit: 50, ...(label && { label }), ...(cursor && { cursor }) }, { workspace }))
  if (list.isPending) return <Loading />
  return (
    <>
      <Problem error={list.error} />
      {labels.length > 0 && (
        <div className="mb-3">
          <InlineSelect
            label={t.show} value={label} onChange={(e) => setLabel(e.target.value)}
            choices={[{ value: '', label: words.activations }, ...labels.map((l) => ({ value: l, label: words.movesOf(l) }))]}
          />
        </div>
      )}
      {list.items.length === 0 && <p className="text-soft">{label ? words.noMoveWasRecorded : words.noVersionHasBeen}</p>}
      {list.items.length > 0 && <Spans label={label ? words.whatWas(label) : words.whatWasActive} spans={spans(list.items)} />}
      <ol className="m-0 list-none border-s-2 border-line p-0 ps-4">
        {list.items.map((a, i) => (
          <li key={a.activated_at + String(a.to_version_id)} className="mb-4">
            <b>{a.to_version_id === null ? words.removed : number(a.to_version_number)}</b> {a.from_version_id && <>{t.after} {number(a.from_version_number)}</>}{' '}
            <span className="text-soft"><When at={a.activated_at} /> · <span title={a.activated_by}>{names(a.activated_by)}</span></span>
            {a.weights && <p className="m-0">{words.rolledOut} {a.weights.map((w) => `v${w.version_number} ${w.weight} %`).join(', ')}</p>}
            {a.reason && <p className="m-0">{a.reason}</p>}
            {onAgain && !label && a.to_version_number !== null && latest(list.items, a) === i && a.to_version_id !== list.items[0]?.to_version_id && (
              <Button tone="quiet" className="-ms-3" onClick={() => onAgain(a.to_version_number!)}>{words.activateAgain(a.to_version_number)}</Button>
            )}
          </li>
        ))}
      </ol>
      <More list={list} />
    </>
  )
}
