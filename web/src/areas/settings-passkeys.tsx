import { useMutation } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { answerOf, confirmed } from '../app/confirmed'
import { useList } from '../app/workspace'
import { t } from '../text'
import { Card, Empty, fieldErrors, Pill, Problem, When } from '../ui/basics'
import { Form, Input } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'

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
        <Empty title="You have no passkeys.">A passkey signs you in with your fingerprint, your face or a security key.</Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label="Passkeys" items={list.items} id={(p) => p.id}
          columns={[
            { title: 'Name', cell: (p) => <><span className="font-medium">{p.name}</span> {p.synced && <Pill>synced</Pill>}</> },
            { title: 'For', narrow: true, cell: (p) => p.host },
            { title: 'Added', narrow: true, cell: (p) => <When at={p.created_at} /> },
            { title: 'Used', narrow: true, cell: (p) => <When at={p.last_used_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (p) => (
                <Confirm
                  label="Remove" title={`Remove ${p.name}`} act="Remove" body="It no longer signs you in. Delete it in your browser, too."
                  run={() => confirmed(() => atrium.me.passkeys.remove(p.id)).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      <div className="mt-6 max-w-lg">
        <Card title="Add a passkey">
          <Form key={add.data?.id} send="Add" busy={add.isPending} onSend={(v) => add.mutate(v)}>
            <Input name="name" label="Name" placeholder="Laptop" required maxLength={80} error={fieldErrors(add.error).name} />
            {cancelled ? <p role="alert" className="text-bad">The browser made no passkey, or you cancelled.</p> : <Problem error={add.error} />}
          </Form>
        </Card>
      </div>
    </>
  )
}
