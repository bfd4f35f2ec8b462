package confine_test

// legacyAttempts are of calls that only older machines have.
var legacyAttempts []attempt
