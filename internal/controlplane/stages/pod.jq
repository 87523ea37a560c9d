# What the stages of running pods share: every use of include "pod" in them is replaced by these definitions.

def annotation($name): .metadata.annotations["sandbox.podsequence.example.com/" + $name];

# A pod of a Job completes by itself, as KWOK's own stages have it, whose annotation for the delay is read too.
def completesByItself:
  if any(.metadata.ownerReferences[]?; .kind == "Job" and (.apiVersion // "" | startswith("batch/")))
  then .metadata.annotations["pod-complete.stage.kwok.x-k8s.io/delay"] // "2s"
  else null
  end;

# When something happens to the pod, or null if it never does.
def due($name):
  annotation($name)
  // (if $name == "ready-after" then "1s" elif $name == "complete-after" then completesByItself else null end)
  | if . == "never" then null else . end;

def milliseconds: [scan("([0-9.]+)(h|ms|m|s)") | (.[0] | tonumber) * {h: 3600000, m: 60000, s: 1000, ms: 1}[.[1]]] | add;

def isReady: any(.status.conditions[]; .type == "Ready" and .status == "True");

def ending: ("fail-after", "complete-after") as $name | select(due($name)) | $name;

# The name of the one thing that happens to the pod next, or null.
def next:
  due("ready-after") as $ready
  | first(ending, null) as $end
  | if isReady and $ready == null then "unready"
    elif isReady or $ready == null then $end
    elif $end and (due($end) | milliseconds) <= ($ready | milliseconds) then $end
    else "ready-after"
    end;

# How long it is until then. The start is known in whole seconds, so up to one of those that seem to have passed may
# not have.
def delay($name):
  ([now - (.status.startTime | fromdate) - 1, 0] | max) as $passed
  | "\((due($name) // "1s" | milliseconds) - $passed * 1000 | floor)ms";
