import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useWorkspace } from './workspace'

/** Leads from a thing to the list that it is in. */
export function Up({ to, children }: { to: string; children: ReactNode }) {
  return <Link to={`/w/${useWorkspace()}/${to}` as string}>{children}</Link>
}
