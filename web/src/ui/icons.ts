/** The icons of the console. They stand beside words, or have a label, so that screen readers skip the picture. */
export {
  Activity as PresenceIcon, ChartColumn as RevenueIcon, Cable as ConnectionsIcon, Check as DoneIcon, ChevronRight as IntoIcon, ChevronsUpDown as ChooseIcon,
  Code as CodeIcon, Copy as CopyIcon, CreditCard as BillingIcon, Database as SourcesIcon, Download as DownloadIcon, Ellipsis as MoreIcon,
  FileText as PromptsIcon, LogOut as SignOutIcon, MessageSquare as ChatsIcon, Plus as AddIcon, Search as SearchIcon,
  Settings as SettingsIcon, Users as PeopleIcon, X as CloseIcon,
} from 'lucide-react'
