import type { FolderShare } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useList, useMe, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Button, fieldErrors, Loading, Problem } from '../ui/basics'
import { Form, InlineSelect, Input, Select } from '../ui/form'
import { Confirm, Dialog } from '../ui/overlays'
import { More, Table } from '../ui/table'

const roles = ['viewer', 'editor', 'manager'].map((r) => ({ value: r, label: r }))
const name = (s: FolderShare) => s.name || s.email || s.user_id

/** Asks for a folder, unless one is given, and then who has access to all prompts in it. */
export function FolderShares({ given = '', onClose }: { given?: string; onClose: () => void }) {
  const workspace = useWorkspace()
  const [folder, setFolder] = useState(given)
  const listed = useId()
  const folders = useQuery({
    queryKey: ['folders', workspace], enabled: !given, queryFn: () => atrium.promptTemplates.folders.list({}, { workspace }).then((p) => p.data),
  })
  return (
    <Dialog open onClose={onClose} title={folder ? words.accessTo(folder) : words.shareAFolder} wide>
      {folder
        ? <Shares folder={folder} />
        : (
          <Form send={words.continue} busy={false} onSend={(v) => setFolder((v.folder ?? '').replace(/\/+$/, ''))}>
            <Input
              name="folder" label={words.folder} required maxLength={253} autoFocus list={listed} autoComplete="off"
              hint={words.whatAFolderIs}
            />
            <datalist id={listed}>{folders.data?.map((f) => <option key={f.path} value={f.path}>{f.path}</option>)}</datalist>
            <Problem error={folders.error} />
          </Form>
        )}
    </Dialog>
  )
}

function Shares({ folder }: { folder: string }) {
  const workspace = useWorkspace()
  const o = { workspace }
  const list = useList(['folder-shares', workspace, folder], (cursor) => atrium.promptTemplates.folders.shares.list(
    { folder, limit: 100, ...(cursor && { cursor }) }, o,
  ))
  const refresh = () => queries.invalidateQueries({ queryKey: ['folder-shares'] })
  const change = useMutation({
    mutationFn: ({ id, role }: { id: string; role: string }) => atrium.promptTemplates.folders.shares.update(id, { role: role as 'viewer' }, o),
    onSettled: refresh,
  })
  if (list.isPending) return <Loading />
  if (list.error) return <Problem error={list.error} />
  const here = (s: FolderShare) => s.folder.toLowerCase() === folder.toLowerCase()
  return (
    <>
      <p className="mt-0 text-soft">{words.allInTheFolder}</p>
      <Problem error={change.error} />
      {list.items.length > 0 && (
        <Table
          label={words.access} items={list.items} id={(s) => s.id}
          columns={[
            { title: t.who, cell: (s) => <>{name(s)}{!here(s) && <p className="m-0 text-xs text-soft">{words.byFolder(s.folder)}</p>}</> },
            {
              title: t.role, narrow: true,
              cell: (s) => <InlineSelect label={words.roleInFolder(name(s), s.folder)} value={s.role} choices={roles} onChange={(e) => change.mutate({ id: s.id, role: e.target.value })} />,
            },
            {
              title: t.actions, narrow: true,
              cell: (s) => (
                <Confirm
                  label={t.remove} title={words.removeTheShare} act={t.remove} body={words.noLongerInFolder(name(s), s.role, s.folder)}
                  run={() => atrium.promptTemplates.folders.shares.delete(s.id, o).then(refresh)}
                />
              ),
            },
          ]}
        />
      )}
      <More list={list} />
      <div className="mt-4" />
      <Add folder={folder} present={list.items.filter(here).map((s) => s.user_id)} onAdded={refresh} />
    </>
  )
}

function Add({ folder, present, onAdded }: { folder: string; present: string[]; onAdded: () => Promise<void> }) {
  const workspace = useWorkspace()
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const groups = useQuery({
    queryKey: ['groups', workspace, 'all'], queryFn: () => firstPage(atrium.groups.list({ limit: 100 }, { workspace })).then((p) => p.data),
  })
  const add = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.promptTemplates.folders.shares.create(
      { folder, user_id: v.user ?? '', role: v.role as 'viewer' }, { workspace },
    ),
    onSuccess: onAdded,
  })
  const choices = [
    ...(groups.data ?? []).map((g) => ({ value: g.id, label: words.groupNamed(g.name) })),
    ...(members.data ?? []).map((m) => ({ value: m.user_id, label: m.name || m.email || m.user_id })),
  ].filter((c) => !present.includes(c.value))
  const wrong = fieldErrors(add.error)
  if (choices.length === 0) return null
  return (
    <Form send={words.share} busy={add.isPending} onSend={(v) => add.mutate(v)}>
      <Select name="user" label={words.personOrGroup} choices={choices} error={wrong.user_id} />
      <Select name="role" label={t.role} choices={roles} />
      <Problem error={add.error} />
    </Form>
  )
}

/** The shares of folders that give access to a prompt. Who manages one of these folders can change who has access to it. */
export function InheritedShares({ id }: { id: string }) {
  const workspace = useWorkspace()
  const me = useMe().data?.user.id
  const [opened, setOpened] = useState<string>()
  const list = useList(['folder-shares', workspace, id], (cursor) => atrium.promptTemplates.shares.inherited(
    id, { limit: 50, ...(cursor && { cursor }) }, { workspace },
  ))
  if (list.items.length === 0) return <Problem error={list.error} />
  return (
    <>
      <h2 className="mt-6 mb-1 text-base font-semibold">{words.byItsFolder}</h2>
      <Table
        label={words.sharesOfFolders} items={list.items} id={(s) => s.id}
        columns={[
          { title: t.who, cell: name },
          { title: t.role, narrow: true, cell: (s) => s.role },
          {
            title: words.folder, narrow: true,
            cell: (s) => (s.user_id === me && s.role === 'manager' ? <Button tone="quiet" className="-mx-3" onClick={() => setOpened(s.folder)}>{s.folder}</Button> : s.folder),
          },
        ]}
      />
      <More list={list} />
      <div className="mt-4" />
      {opened && <FolderShares given={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}
