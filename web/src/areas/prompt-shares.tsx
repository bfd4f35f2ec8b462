import { useQuery } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useList, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/prompts'
import { Card, Loading, Problem } from '../ui/basics'
import { Form, Select } from '../ui/form'
import { Confirm } from '../ui/overlays'
import { More, Table } from '../ui/table'
import { InheritedShares } from './prompt-folder-shares'

/** The people that a prompt is shared with. Its owner can change them. */
export function PromptShares({ id, owner }: { id: string; owner: boolean }) {
  const workspace = useWorkspace()
  const o = { workspace }
  const list = useList(['shares', id], (cursor) => atrium.promptTemplates.shares.list(id, { limit: 50, ...(cursor && { cursor }) }, o))
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const name = (user: string) => {
    const m = members.data?.find((x) => x.user_id === user)
    return m ? m.name || m.email || user : user
  }
  const refresh = () => queries.invalidateQueries({ queryKey: ['shares', id] })
  const add = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.promptTemplates.shares.create(id, { user_id: v.user ?? '', role: v.role ?? 'viewer' }, o),
    onSuccess: refresh,
  })
  if (list.isPending) return <Loading />
  const others = (members.data ?? []).filter((m) => !list.items.some((s) => s.user_id === m.user_id))
  return (
    <>
      <Problem error={list.error} />
      {list.items.length === 0
        ? <p className="text-soft">{words.itIsSharedWith}</p>
        : (
          <Table
            label={words.shares} items={list.items} id={(s) => s.user_id}
            columns={[
              { title: t.who, cell: (s) => name(s.user_id) },
              { title: t.role, cell: (s) => s.role, narrow: true },
              {
                title: t.actions, narrow: true,
                cell: (s) => owner && (
                  <Confirm
                    label={t.remove} title={words.removeTheShare} body={words.willNoLongerSee(name(s.user_id))} act={t.remove}
                    run={() => atrium.promptTemplates.shares.delete(id, s.user_id, o).then(refresh)}
                  />
                ),
              },
            ]}
          />
        )}
      <More list={list} />
      <InheritedShares id={id} />
      {owner && others.length > 0 && (
        <Card title={words.shareWith}>
          <Form send={words.share} busy={add.isPending} onSend={(v) => add.mutate(v)}>
            <Select name="user" label={words.person} choices={others.map((m) => ({ value: m.user_id, label: m.name || m.email || m.user_id }))} />
            <Select name="role" label={t.role} choices={['viewer', 'editor', 'manager'].map((r) => ({ value: r, label: r }))} />
            <Problem error={add.error} />
          </Form>
        </Card>
      )}
    </>
  )
}
