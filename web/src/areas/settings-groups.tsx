import { useQuery } from '@tanstack/react-query'
import type { Group } from '@atrium-hq/client'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useShown } from '../app/shown'
import { firstPage, useCreating, useList, usePermission, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/settings'
import { About, Button, Empty, fieldErrors, Loading, Pill, Problem } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'
import { AddIcon } from '../ui/icons'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

const roles = [
  { value: '', label: words.noneOfItsOwn }, { value: 'viewer', label: words.viewer }, { value: 'member', label: words.member },
  { value: 'admin', label: words.admin },
]

export function Groups() {
  const workspace = useWorkspace()
  const manages = usePermission()('members.manage')
  const o = { workspace }
  const [shown, setShown] = useShown('open')
  const [creating, setCreating] = useCreating()
  const list = useList(['groups', workspace], (cursor) => atrium.groups.list({ limit: 50, ...(cursor && { cursor }) }, o))
  const refresh = () => queries.invalidateQueries({ queryKey: ['groups', workspace] })
  const create = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.groups.create({
      name: v.name ?? '', ...(v.role && { role: v.role }), ...(v.external_id && { external_id: v.external_id }),
    }, o),
    onSuccess: () => { setCreating(false); return refresh() },
  })
  const open = list.items.find((g) => g.id === shown)
  return (
    <>
      <About
        actions={manages && (
          <Button tone="act" data-key="c" onClick={() => { create.reset(); setCreating(true) }}><AddIcon size={16} aria-hidden="true" />{t.newGroup}</Button>
        )}
      >
        {words.sharePromptsAndChats}
      </About>
      <Problem error={list.error} />
      {list.isSuccess && list.items.length === 0 && (
        <Empty title={words.thereAreNoGroups}>{words.aGroupCanFollow}</Empty>
      )}
      {list.items.length > 0 && (
        <Table
          label={t.groups} items={list.items} id={(g) => g.id} csv="groups"
          columns={[
            {
              title: t.name, text: (g) => g.name,
              cell: (g) => <><span className="font-medium break-words">{g.name}</span> {g.external_id && <Pill tone="mark">{words.followsExternalIdExternal(g.external_id)}</Pill>}</>,
            },
            { title: t.role, narrow: true, text: (g) => g.role ?? '', cell: (g) => g.role ?? '–' },
            { title: t.people, narrow: true, text: (g) => String(g.size), cell: (g) => g.size },
            {
              title: t.actions, narrow: true,
              cell: (g) => (
                <>
                  <Button tone="quiet" onClick={() => setShown(g.id)}>{words.open}</Button>
                  {manages && (
                    <Confirm
                      label={t.delete} title={words.deleteNameName(g.name)} act={t.delete}
                      body={words.whatItsPeopleHave}
                      run={() => atrium.groups.delete(g.id, o).then(refresh)}
                    />
                  )}
                </>
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      {open && <Dialog open onClose={() => setShown('', true)} title={open.name}><OneGroup group={open} manages={manages} changed={refresh} /></Dialog>}
      {manages && creating && (
        <Dialog open onClose={() => setCreating(false)} title={t.newGroup}>
          <Form send={t.create} busy={create.isPending} onSend={(v) => create.mutate(v)}><GroupFields error={create.error} /></Form>
        </Dialog>
      )}
    </>
  )
}

function GroupFields({ group, error }: { group?: Group; error: unknown }) {
  const wrong = fieldErrors(error)
  return (
    <>
      <Input name="name" label={t.name} required maxLength={80} defaultValue={group?.name} error={wrong.name} />
      <Select name="role" label={words.roleInTheWorkspace} choices={roles} defaultValue={group?.role ?? ''} error={wrong.role} />
      <Input
        name="external_id" label={words.groupAtYourIdentity} maxLength={255} defaultValue={group?.external_id ?? ''}
        hint={words.itsIdOrName} error={wrong.external_id}
      />
      <Problem error={error} />
    </>
  )
}

function OneGroup({ group, manages, changed }: { group: Group; manages: boolean; changed: () => Promise<void> }) {
  const workspace = useWorkspace()
  const o = { workspace }
  const people = useList(['group', group.id], (cursor) => atrium.groups.members.list(group.id, { limit: 50, ...(cursor && { cursor }) }, o))
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const refresh = () => Promise.all([changed(), queries.invalidateQueries({ queryKey: ['group', group.id] })])
  const save = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.groups.update(group.id, {
      name: v.name ?? '', role: v.role || null, external_id: v.external_id || null,
    }, o),
    onSuccess: refresh,
  })
  const add = useMutation({ mutationFn: (v: Record<string, string>) => atrium.groups.members.add(group.id, v.user ?? '', o), onSuccess: refresh })
  const others = (members.data ?? []).filter((m) => m.kind === 'person' && !people.items.some((p) => p.user_id === m.user_id))
  return (
    <>
      {manages && <Form send={t.save} busy={save.isPending} onSend={(v) => save.mutate(v)}><GroupFields group={group} error={save.error} /></Form>}
      <h3 className="mt-5 mb-2 font-semibold">{t.people}</h3>
      <Problem error={people.error ?? add.error} />
      {people.isPending && <Loading />}
      {people.isSuccess && people.items.length === 0 && <p className="text-soft">{words.nobodyIsInThe}</p>}
      {people.items.length > 0 && (
        <Table
          label={t.people} items={people.items} id={(p) => p.user_id}
          columns={[
            { title: t.who, cell: (p) => p.name || p.email },
            {
              title: t.actions, narrow: true,
              cell: (p) => manages && (
                <Confirm
                  label={t.remove} title={words.removeNameName(p.name || p.email || '')} act={t.remove} body={words.whatTheyHaveBy}
                  run={() => atrium.groups.members.remove(group.id, p.user_id, o).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={people} />
      {manages && others.length > 0 && (
        <div className="mt-4">
          <Form send={t.add} busy={add.isPending} onSend={(v) => add.mutate(v)}>
            <Select name="user" label={words.addAPerson} choices={others.map((m) => ({ value: m.user_id, label: m.name || m.email || m.user_id }))} />
          </Form>
        </div>
      )}
    </>
  )
}
