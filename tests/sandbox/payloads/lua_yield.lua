-- A yield where nobody resumes.
function attack()
  coroutine.yield("GOT: out of the call")
  return "GOT: went on"
end
