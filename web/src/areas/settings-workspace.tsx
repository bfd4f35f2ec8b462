import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { atrium, queries } from '../api'
import { confirmed } from '../app/confirmed'
import { useMutation } from '../app/mutation'
import { firstPage, useMe, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { Card, fieldErrors, Loading, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { Confirm } from '../ui/overlays'

export function WorkspaceSettings() {
  const slug = useWorkspace()
  const may = usePermission()
  const navigate = useNavigate()
  const workspace = useQuery({ queryKey: ['workspace', slug], queryFn: () => atrium.workspaces.get(slug) })
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.workspaces.update(slug, { name: v.name ?? '', slug: v.slug ?? '' }),
    onSuccess: async (w) => {
      await queries.invalidateQueries()
      if (w.slug !== slug) await navigate({ to: `/w/${w.slug}/settings/workspace` as string })
    },
  })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.workspaces.create({ name: v.name ?? '' }),
    onSuccess: async (w) => {
      await queries.invalidateQueries({ queryKey: ['workspaces'] })
      await navigate({ to: `/w/${w.slug}/prompts` as string })
    },
  })
  if (workspace.isPending) return <Loading />
  const wrong = fieldErrors(save.error)
  const w = workspace.data
  return (
    <div className="max-w-lg">
      <Problem error={workspace.error} />
      {w && may('workspace.update') && (
        <Card title={t.thisWorkspace}>
          <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}>
            <Input name="name" label={t.name} required maxLength={100} defaultValue={w.name} error={wrong.name} />
            <Input name="slug" label={words.shortNameInAddresses} required maxLength={63} defaultValue={w.slug} error={wrong.slug} />
            <Problem error={save.error} />
          </Form>
        </Card>
      )}
      <Card title={words.anotherWorkspace}>
        <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}>
          <Input name="name" label={words.nameOfTheNew} required maxLength={100} error={fieldErrors(create.error).name} />
          <Problem error={create.error} />
        </Form>
      </Card>
      {w && may('workspace.delete') && <Owned name={w.name} />}
    </div>
  )
}

/** What only an owner can do, and what cannot be undone easily. */
function Owned({ name }: { name: string }) {
  const workspace = useWorkspace()
  const me = useMe()
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const transfer = useMutation({
    mutationFn: (user: string) => confirmed(() => atrium.workspaces.transfer(workspace, { user_id: user })),
    onSuccess: () => queries.invalidateQueries(),
  })
  const others = (members.data ?? []).filter((m) => m.kind === 'person' && m.user_id !== me.data?.user.id)
  return (
    <Card title={words.ownership}>
      {others.length > 0 && (
        <Form send={words.transfer} busy={transfer.isPending} onSend={(v) => transfer.mutate(v.user ?? '')}>
          <Select
            name="user" label={words.transferTheWorkspaceTo} hint={words.theyBecomeItsOwner}
            choices={others.map((m) => ({ value: m.user_id, label: m.name || m.email || m.user_id }))}
          />
          <Problem error={transfer.error} />
        </Form>
      )}
      <div className="mt-4 -ms-3">
        <Confirm
          label={words.deleteTheWorkspace} title={words.deleteNameName(name)} act={t.delete}
          body={words.nobodyCanOpenIt}
          run={() => confirmed(() => atrium.workspaces.delete(workspace)).then(() => location.assign(new URL('.', document.baseURI)))}
        />
      </div>
    </Card>
  )
}
