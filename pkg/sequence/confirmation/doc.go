// Package confirmation says what must be known before something that looks satisfied counts. Its rules are functions of facts.
//
// What the engine knows comes through one watch for each kind, and these are not in step. A pod of the second group may be seen
// before the change of a Deployment that was made before the pod was, and that says that the first group is not ready any more;
// the last pod of a group may be seen to be ready before it is seen that a moment ago more were asked for. A pass that rests on
// such a picture would be one that the cluster never gave.
//
// So what is about to be released is first unconfirmed. The engine asks: is anything missing up to the version of the newest
// event that this rests on? Once it hears that nothing is, and no event that came meanwhile has changed the picture, the
// picture is that of the cluster at that version. Groups that turn ready are unconfirmed, and pods that come to a sequence in which
// what is ready may stop being so. Elsewhere what was passed stays passed, whatever is missing.
//
// What may be lost again must have been there at one time. Under Continuous, and on nodes, a group is therefore confirmed together with
// those before it, which other kinds of objects or other namespaces may decide on. A pass that is permanent needs no such care, but a
// group must have been satisfied after it was reached: what came late may be from before that.
//
// A watch that breaks begins anew with a list, which hides what came and went since the last event before it. The picture then skips
// versions, and may never be that of the cluster at one of them. So what is not confirmed yet when a list comes is confirmed as of the
// list, as is everything that looks satisfied later, if the list is of a kind that matters to it.
//
// The words: a moment counts the events that the engine has been told of. A question asks for everything to be made known that
// there was at its moment, which is everything up to the newest version that was known then, not up to that of the event: one that
// comes late is older. Its subject is which kinds of objects it is about, and where. A witness remembers that a group was
// satisfied for a moment.
package confirmation
