// An ordinary scraper with Node's own fetch; it knows nothing of Corral.
const url = process.argv[process.argv.indexOf("--url") + 1];
for (let number = 0; number < 3; number += 1) {
  const response = await fetch(`${url}/${number}`);
  if (!response.ok) {
    console.error(`${url}/${number} answered ${response.status}`);
    process.exit(1);
  }
  console.log(JSON.stringify(await response.json()));
}
