package ports

// Stores holds every store: of a connection pool, or of one transaction, which Atomic then joins. An area's stores are
// a group. A use case takes the groups and the single stores that it needs.
type Stores struct {
	Atomic    Atomic
	Events    Events
	Jobs      Jobs
	Presences Presences
	Webhooks  Webhooks
	AccountStores
	SessionStores
	DirectoryStores
	PromptStores
	ChatStores
	EmbedStores
	ConnectionStores
	SourceStores
	PaymentStores
}

// AccountStores are the stores of people, workspaces and API keys.
type AccountStores struct {
	Users           Users
	LinkedSignIns   LinkedSignIns
	People          People
	Erasures        Erasures
	Workspaces      Workspaces
	Invitations     Invitations
	Captures        Captures
	Groups          Groups
	Keys            Keys
	KeyRequests     KeyRequests
	SecurityNotices SecurityNotices
}

// SessionStores are the stores of sign-ins.
type SessionStores struct {
	Sessions         Sessions
	ProviderSessions ProviderSessions
	Passkeys         Passkeys
	Tickets          Tickets
}

// DirectoryStores are the stores of what a directory manages by SCIM.
type DirectoryStores struct {
	DirectoryUsers    DirectoryUsers
	DirectoryGroups   DirectoryGroups
	DirectoryRequests DirectoryRequests
}

// PromptStores are the stores of prompt templates.
type PromptStores struct {
	Prompts        Prompts
	PromptLists    PromptLists
	PromptReads    PromptReads
	PromptFeedback PromptFeedback
	PromptFolders  PromptFolders
}

// ChatStores are the stores of chat templates.
type ChatStores struct {
	Chats        Chats
	ChatLists    ChatLists
	ChatVersions ChatVersions
}

// EmbedStores are the stores of chats on pages of other sites.
type EmbedStores struct {
	Embeds    Embeds
	EmbedUses EmbedUses
	Replies   EmbedReplies
}

// ConnectionStores are the stores of connections.
type ConnectionStores struct {
	Connections   Connections
	ConsentStates ConsentStates
}

// SourceStores are the stores of data sources.
type SourceStores struct {
	Sources           Sources
	SourceValidations SourceValidations
	SourceChanges     SourceChanges
	SourceFiles       SourceFiles
}

// PaymentStores are the stores of payments, and of what plans limit.
type PaymentStores struct {
	Payments    Payments
	Inbox       Inbox
	Meters      Meters
	Trials      Trials
	Usage       Usage
	StreamSeats StreamSeats
}
