import { atrium, base, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useCreating, useList, usePermission, useRoles, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { About, Button, Card, Copy, Empty, fieldErrors, Pill, Problem, Secret, When } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { Sparkline } from '../ui/pictures'
import { More, Table } from '../ui/table'

const lifetimes = [
  { value: '30', label: words.days30 }, { value: '90', label: words.days90 }, { value: '365', label: words.aYear }, { value: '', label: words.withoutAnEnd },
]

const sum = (counts: number[]) => counts.reduce((a, b) => a + b, 0)

/** How often a key was used on each of the last days. */
function Requests({ counts }: { counts: number[] }) {
  const today = Math.floor(Date.now() / 86_400_000)
  const days = counts.map((value, i) => {
    const date = new Date((today - counts.length + 1 + i) * 86_400_000)
    const day = date.toLocaleDateString(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short' })
    return { key: date.toISOString(), value, day, title: words.requestsOn(value.toLocaleString(), day) }
  })
  const all = sum(counts)
  if (all === 0) return <span className="text-soft">{words.noRequests}</span>
  const most = days.reduce((a, b) => (b.value > a.value ? b : a))
  return (
    <div className="flex items-center gap-2">
      <Sparkline label={words.requestsSaid(all.toLocaleString(), counts.length, most.value.toLocaleString(), most.day)} bars={days} />
      <span className="tabular-nums">{all.toLocaleString()}</span>
    </div>
  )
}

export function Keys() {
  const workspace = useWorkspace()
  const may = usePermission()
  const o = { workspace }
  const roles = useRoles()
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
  const example = create.data && words.curlHAuthorizationBearer(new URL('api/me', base).href, create.data.token)
  return (
    <>
      <About
        actions={may('api_keys.create') && (
          <Button tone="act" data-key="c" onClick={() => { create.reset(); setCreating(true) }}><AddIcon size={16} aria-hidden="true" />{t.newKey}</Button>
        )}
      >
        {words.applicationsCallTheApi}
      </About>
      <Problem error={list.error} />
      {create.data && example && (
        <Card title={words.theKey(create.data.name)} actions={<Copy text={example} label={words.copyACurlCommand} />}>
          <Secret value={create.data.token} hint={words.theKeyIsShown} />
        </Card>
      )}
      {list.isSuccess && list.items.length === 0 && <Empty title={words.thereAreNoApi} />}
      {list.items.length > 0 && (
        <Table
          label={t.apiKeys} items={list.items} id={(k) => k.id} csv="api-keys"
          columns={[
            { title: t.name, text: (k) => k.name, cell: (k) => <><span className="font-medium">{k.name}</span> <code className="text-xs text-soft">{k.hint}</code></> },
            { title: t.status, narrow: true, text: (k) => k.status, cell: (k) => <Pill tone={k.status === 'active' ? 'ok' : k.status === 'suspended' ? 'warn' : 'plain'}>{k.status}</Pill> },
            {
              title: words.may, text: (k) => k.role_ceiling,
              cell: (k) => <>{k.role_ceiling}{k.scopes.length > 0 && <span className="block text-xs text-soft">{k.scopes.join(', ')}</span>}</>,
            },
            { title: words.ends, narrow: true, text: (k) => k.expires_at ?? '', cell: (k) => (k.expires_at ? <When at={k.expires_at} /> : <span className="text-soft">–</span>) },
            {
              title: words.requests, narrow: true, text: (k) => String(sum(k.requests_by_day ?? [])),
              cell: (k) => <Requests counts={k.requests_by_day ?? []} />,
            },
            { title: t.used, narrow: true, text: (k) => k.last_used_at ?? '', cell: (k) => <When at={k.last_used_at} /> },
            {
              title: t.actions, narrow: true,
              cell: (k) => (k.status === 'active' || k.status === 'suspended') && (
                <Confirm
                  label={t.revoke} title={words.revokeNameName(k.name)} act={t.revoke} body={words.whateverUsesTheKey}
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
            <Input name="name" label={t.name} required maxLength={120} autoFocus error={wrong.name} hint={words.whatUsesItSuch} />
            <Select
              name="role" label={words.atMostTheRole} defaultValue={words.viewer} error={wrong.role_ceiling} hint={words.aViewerCanOnly}
              choices={roles.map((r) => ({ value: r, label: r }))}
            />
            <Input name="scopes" label={words.scopes} placeholder={words.exampleScopes} hint={words.emptyEverythingThatThe} error={wrong.scopes} />
            <Select name="days" label={words.endsAfter} defaultValue="30" choices={lifetimes} error={wrong.expires_at} />
            <Problem error={create.error} />
          </Form>
        </Dialog>
      )}
    </>
  )
}
