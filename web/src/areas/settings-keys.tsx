import { useMutation } from '@tanstack/react-query'
import { atrium, base, queries } from '../api'
import { useCreating, useList, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { About, Button, Card, Copy, Empty, fieldErrors, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

const lifetimes = [
  { value: '30', label: '30 days' }, { value: '90', label: '90 days' }, { value: '365', label: 'a year' }, { value: '', label: 'without an end' },
]

export function Keys() {
  const workspace = useWorkspace()
  const may = usePermission()
  const o = { workspace }
  const [creating, setCreating] = useCreating()
  const list = useList(['keys', workspace], (cursor) => atrium.apiKeys.list({ limit: 50, ...(cursor && { cursor }) }, o))
  const refresh = () => queries.invalidateQueries({ queryKey: ['keys', workspace] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.apiKeys.create({
      name: v.name ?? '', role_ceiling: v.role ?? 'viewer',
      ...(v.scopes && { scopes: v.scopes.split(/[\s,]+/).filter(Boolean) }),
      ...(v.days && { expires_at: new Date(Date.now() + Number(v.days) * 86_400_000).toISOString() }),
    }, o),
    onSuccess: () => { setCreating(false); return refresh() },
  })
  const wrong = fieldErrors(create.error)
  const example = create.data && `curl ${new URL('api/me', base).href} -H 'Authorization: Bearer ${create.data.token}'`
  return (
    <>
      <About
        actions={may('api_keys.create') && (
          <Button tone="act" data-key="c" onClick={() => { create.reset(); setCreating(true) }}><AddIcon size={16} aria-hidden="true" />{t.newKey}</Button>
        )}
      >
        Applications call the API with a key. It may never do more than you.
      </About>
      <Problem error={list.error} />
      {create.data && example && (
        <Card title={`The key ${create.data.name}`} actions={<Copy text={example} label="Copy a curl command" />}>
          <Secret value={create.data.token} hint="The key is shown only now." />
        </Card>
      )}
      {list.isSuccess && list.items.length === 0 && <Empty title="There are no API keys yet." />}
      {list.items.length > 0 && (
        <Table
          label="API keys" items={list.items} id={(k) => k.id} csv="api-keys"
          columns={[
            { title: 'Name', text: (k) => k.name, cell: (k) => <><span className="font-medium">{k.name}</span> <code className="text-xs text-soft">{k.hint}</code></> },
            { title: 'Status', narrow: true, text: (k) => k.status, cell: (k) => <Pill tone={k.status === 'active' ? 'ok' : 'plain'}>{k.status}</Pill> },
            {
              title: 'May', text: (k) => k.role_ceiling,
              cell: (k) => <>{k.role_ceiling}{k.scopes.length > 0 && <span className="block text-xs text-soft">{k.scopes.join(', ')}</span>}</>,
            },
            { title: 'Ends', narrow: true, text: (k) => k.expires_at ?? '', cell: (k) => (k.expires_at ? <When at={k.expires_at} /> : <span className="text-soft">–</span>) },
            { title: 'Used', narrow: true, text: (k) => k.last_used_at ?? '', cell: (k) => <When at={k.last_used_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (k) => k.status === 'active' && (
                <Confirm
                  label="Revoke" title={`Revoke ${k.name}`} act="Revoke" body="Whatever uses the key is refused, at once."
                  run={() => atrium.apiKeys.revoke(k.id, o).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {creating && (
        <Dialog open onClose={() => setCreating(false)} title={t.newKey}>
          <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
            <Input name="name" label="Name" required maxLength={120} autoFocus error={wrong.name} hint="What uses it, such as the CI of the shop." />
            <Select
              name="role" label="At most the role" defaultValue="viewer" error={wrong.role_ceiling} hint="A viewer can only read."
              choices={['viewer', 'member', 'admin', 'owner'].map((r) => ({ value: r, label: r }))}
            />
            <Input name="scopes" label="Scopes" placeholder="prompts:read prompts:render" hint="Empty: everything that the role allows." error={wrong.scopes} />
            <Select name="days" label="Ends after" defaultValue="90" choices={lifetimes} error={wrong.expires_at} />
            <Problem error={create.error} />
          </Form>
        </Dialog>
      )}
    </>
  )
}
