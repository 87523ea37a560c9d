# What the stages of running pods share: every use of include "pod" in them is replaced by these definitions.

def annotation($name): .metadata.annotations["sandbox.podsequence.example.com/" + $name];

def milliseconds: [scan("([0-9.]+)(h|ms|m|s)") | (.[0] | tonumber) * {h: 3600000, m: 60000, s: 1000, ms: 1}[.[1]]] | add;

def isReady: any(.status.conditions[]; .type == "Ready" and .status == "True");

def ending: ("fail-after", "complete-after") as $name | select(annotation($name)) | $name;

# The name of the one thing that happens to the pod next, or null.
def next:
  (annotation("ready-after") // "1s") as $ready
  | first(ending, null) as $end
  | if isReady and $ready == "never" then "unready"
    elif isReady or $ready == "never" then $end
    elif $end and (annotation($end) | milliseconds) <= ($ready | milliseconds) then $end
    else "ready-after"
    end;

# How long it is until then. The start is known in whole seconds, so up to one of those that seem to have passed may
# not have.
def delay($name):
  ([now - (.status.startTime | fromdate) - 1, 0] | max) as $passed
  | "\((annotation($name) // "1s" | milliseconds) - $passed * 1000 | floor)ms";
