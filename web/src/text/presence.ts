/** What people read on the screen of presence. */
export const words = {
  applicationsReportPeopleWith: 'Applications report people with heartbeats.',
  nobodyIsHereNow: 'No one is here now.',
  you: 'you',
  update: 'Update',
  sayThatYouAre: 'Set your status',
  whatYouAreDoing: 'What you are doing',
} as const
