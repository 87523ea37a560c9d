// Package progress says which groups of a sequence are passed and released in one domain, since when, and when time alone
// will change that. Its rules are functions of facts: the spec, how ready each group is, what status records, and the time.
//
// The words: a group is reached when all groups that it waits for are passed. It is released when its pods may be scheduled:
// it is reached, and no suspension keeps it. It is passed when it was reached and satisfied, and its wait was over. A group
// is current when it is reached and not passed.
package progress
