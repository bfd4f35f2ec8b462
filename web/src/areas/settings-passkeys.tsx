import type { Passkey } from '@atrium-hq/client'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { answerOf, confirmed } from '../app/confirmed'
import { useMutation } from '../app/mutation'
import { useList } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { Card, Empty, fieldErrors, Pill, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'

function Remove({ passkey: p, done }: { passkey: Passkey; done: () => Promise<unknown> }) {
  const [keep, setKeep] = useState(false)
  return (
    <Confirm
      label={t.remove} title={words.removeNameName(p.name)} act={t.remove}
      body={
        <>
          <p className="mt-0">{words.itNoLongerSigns}</p>
          <label className="flex items-start gap-2">
            <input type="checkbox" checked={keep} onChange={(e) => setKeep(e.target.checked)} />
            <span>{words.keepItsSessions}</span>
          </label>
        </>
      }
      run={() => confirmed(() => atrium.me.passkeys.remove(p.id, { keep_sessions: keep })).then(done)}
    />
  )
}

export function Passkeys() {
  const list = useList(['passkeys'], (cursor) => atrium.me.passkeys.list({ limit: 50, ...(cursor && { cursor }) }))
  const refresh = () => queries.invalidateQueries({ queryKey: ['passkeys'] })
  const add = useMutation({
    mutationFn: async (v: Record<string, string>) => {
      const { public_key: options } = await confirmed(() => atrium.me.passkeys.challenge())
      const made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options as never) })
      return atrium.me.passkeys.add({ name: v.name ?? '', credential: answerOf(made) as never })
    },
    onSuccess: refresh,
  })
  const cancelled = add.error instanceof DOMException
  return (
    <>
      <Problem error={list.error} />
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={words.youHaveNoPasskeys}>{words.aPasskeySignsYou}</Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label={words.passkeys} items={list.items} id={(p) => p.id}
          columns={[
            { title: t.name, cell: (p) => <><span className="font-medium">{p.name}</span> {p.synced && <Pill>{words.synced}</Pill>}</> },
            { title: words.for, narrow: true, cell: (p) => p.host },
            { title: words.added, narrow: true, cell: (p) => <When at={p.created_at} /> },
            { title: t.used, narrow: true, cell: (p) => <When at={p.last_used_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (p) => <Remove passkey={p} done={refresh} />,
            },
          ]}
        />
      )}
      <More list={list} />
      <div className="mt-6 max-w-lg">
        <Card title={words.addAPasskey}>
          <Form key={add.data?.id} send={t.add} busy={add.isPending} onSend={(v) => add.mutate(v)}>
            <Input name="name" label={t.name} placeholder={words.laptop} required maxLength={80} error={fieldErrors(add.error).name} />
            {cancelled ? <p role="alert" className="text-bad">{words.theBrowserMadeNo}</p> : <Problem error={add.error} />}
          </Form>
        </Card>
      </div>
    </>
  )
}
