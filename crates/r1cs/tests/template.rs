//! Templates of toy circuits: the same matrices, witness, A·w and B·w as the recorder and the evaluating walk.

mod toys;

use bellpepper_core::{Circuit, ConstraintSystem};
use cuzk_r1cs::{
    Bitmap, BlockStart, CircuitDigest, ColumnSums, ConstraintSystemMatrices, Error, Fr, Matrix,
    PackedWitness, Side, Template, TemplateParts, Writer, aux_path, circuit_digest, derive, derive_flat,
    evaluate, evaluate_packed, evaluate_packed_into, first_unsatisfied, record, row_path, walk_blocks,
    walk_witness, write_blocks,
};
use ff::Field;
use proptest::prelude::*;
use toys::{Gates, Toy, random_toy};

const START: BlockStart = BlockStart { depth: 1, prefix: "block " };

/// Rows with coefficients instead of their numbers.
fn rows(system: &ConstraintSystemMatrices, matrix: &Matrix) -> Vec<Vec<(usize, Fr)>> {
    let term = |term: &cuzk_r1cs::Term| {
        (term.variable.column(system.n_inputs), system.coefficients[term.coefficient as usize])
    };
    (0..matrix.n_rows()).map(|row| matrix.row(row).iter().map(term).collect()).collect()
}

fn assert_same_system(found: &ConstraintSystemMatrices, expected: &ConstraintSystemMatrices) {
    assert_eq!((found.n_inputs, found.n_aux), (expected.n_inputs, expected.n_aux));
    for (found_matrix, expected_matrix) in
        [(&found.a, &expected.a), (&found.b, &expected.b), (&found.c, &expected.c)]
    {
        assert_eq!(rows(found, found_matrix), rows(expected, expected_matrix));
    }
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// A witness written value by value, each with whether it is written as a bit; `spoil` changes what a block (or the header) writes.
fn write_again(
    template: &Template,
    witness: &PackedWitness,
    spoil: impl Fn(Option<usize>, Vec<(Fr, bool)>) -> Vec<(Fr, bool)> + Sync,
) -> Result<PackedWitness, Error> {
    let values: Vec<(Fr, bool)> = {
        let (aux, bits) = (witness.unpack_aux(template).unwrap(), template.bits());
        aux.into_iter().enumerate().map(|(index, value)| (value, bits.get(index))).collect()
    };
    let (n_header, n_block) = (template.header().n_aux(), template.block().n_aux());
    let values = |instance: Option<usize>| {
        let range = match instance {
            None => 0..n_header,
            Some(instance) => n_header + instance * n_block..n_header + (instance + 1) * n_block,
        };
        spoil(instance, values[range].to_vec())
    };
    let mut scalars = vec![Fr::ONE; template.n_scalars()];
    let bits = write_blocks(
        template,
        &mut scalars,
        |out| write_values(values(None), out).map(fill),
        |block, out| write_values(values(Some(block)), out),
        2,
        |blocks| blocks.into_iter().for_each(fill),
    )?;
    PackedWitness::new(template, witness.inputs.clone(), bits, scalars)
}

/// Places that are filled later, and what with.
type Left<'a> = Vec<(&'a mut [Fr], Fr)>;

fn fill(left: Left<'_>) {
    left.into_iter().for_each(|(place, value)| place.fill(value));
}

/// In every way of writing a value.
fn write_values<'a>(values: Vec<(Fr, bool)>, out: &mut Writer<'a>) -> Result<Left<'a>, Error> {
    let mut left = vec![];
    for (index, (value, is_bit)) in values.into_iter().enumerate() {
        match (is_bit, index % 2) {
            (true, 0) => out.bits(u64::from(value == Fr::ONE), 1),
            (true, _) => out.number(u64::from(value == Fr::ONE)),
            (false, 0) => out.scalar(value),
            (false, _) => left.push((out.scalars(1)?, value)),
        }
    }
    Ok(left)
}

#[test]
fn what_does_not_fill_a_circuit_is_refused() {
    let toy = Toy::example(3);
    let template = derive(toy.blank(), START).unwrap();
    let witness = walk_witness(&template, toy).unwrap();
    let refused = |what: &str, change: fn(&mut Vec<(Fr, bool)>)| {
        let spoilt = write_again(&template, &witness, |instance, mut values| {
            if instance == Some(1) {
                change(&mut values);
            }
            values
        });
        match spoilt {
            Err(Error::OtherShape { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{other:?}"),
        }
    };
    refused("aux variables that were written", |values| values.truncate(values.len() - 1));
    refused("aux variables that were written", |values| values.push((Fr::ONE, true)));
    // As many, but of another sort.
    refused("scalars left to write", |values| values.iter_mut().for_each(|value| value.1 = false));
    refused("scalars that were written", |values| {
        let scalar = values.iter().position(|value| !value.1).unwrap();
        values[scalar] = (Fr::ZERO, true);
    });
    refused("bits in places of scalars", |values| {
        let scalar = values.iter().position(|value| !value.1).unwrap();
        let bit = values.iter().position(|value| value.1).unwrap();
        values[scalar] = (Fr::ONE, true);
        values[bit] = (Fr::ONE, false);
    });
    let too_many = |out: &mut Writer<'_>| out.scalars(template.n_scalars() + 1).map(|_| ());
    let mut scalars = witness.scalars.clone();
    let written = write_blocks(&template, &mut scalars, too_many, |_, _| Ok(()), 1, |_| ());
    assert!(matches!(written, Err(Error::OtherShape { what: "scalars left to write", .. })), "{written:?}");
    let nothing = |_: &mut Writer<'_>| Ok::<_, Error>(());
    let written = write_blocks(&template, &mut scalars[1..], nothing, |_, _| Ok(()), 1, |_| ());
    assert!(matches!(written, Err(Error::OtherShape { what: "scalars", .. })), "{written:?}");
}

#[test]
fn the_first_difference_of_two_witnesses_has_a_name() {
    let toy = Toy::example(3);
    let template = derive(toy.blank(), START).unwrap();
    let witness = walk_witness(&template, toy.clone()).unwrap();
    assert_eq!(witness.first_difference(&witness, &template).unwrap(), None);
    let aux = witness.unpack_aux(&template).unwrap();
    for changed in 0..aux.len() {
        let mut other = aux.clone();
        // What comes after it may differ, too.
        let bits = template.bits();
        other[changed..].iter_mut().enumerate().for_each(|(index, value)| {
            let of_both = aux[changed + index];
            *value = if bits.get(changed + index) { Fr::ONE - of_both } else { of_both + Fr::ONE };
        });
        let other = PackedWitness::pack(&template, witness.inputs.clone(), &other).unwrap();
        assert_eq!(witness.first_difference(&other, &template).unwrap(), Some(changed));
        assert!(aux_path(toy.clone(), changed).unwrap().is_some());
    }
    assert_eq!(aux_path(toy, aux.len()).unwrap(), None);
}

/// Everything that a template does, against the recorder and the evaluating walk.
fn assert_template_stands_for(template: &Template, toy: &Toy) {
    let system = record(toy.blank()).unwrap();
    assert_same_system(&template.to_matrices().unwrap(), &system);
    let values: Vec<Fr> = (0..system.n_rows() as u64).map(|i| Fr::from(i + 3).square()).collect();
    for side in [Side::A, Side::B, Side::C] {
        assert_eq!(template.column_sums(side, &values), ColumnSums::column_sums(&system, side, &values));
    }
    let digest = circuit_digest(toy.blank()).unwrap();
    assert_eq!(template.circuit_digest().unwrap(), digest);

    let synthesis = evaluate(toy.clone()).unwrap();
    assert_eq!(cuzk_r1cs::evaluate_presized(toy.clone(), &template.size()).unwrap(), synthesis);
    assert_eq!(template.densities(), synthesis.densities);
    let witness = walk_witness(template, toy.clone()).unwrap();
    assert_eq!(PackedWitness::pack(template, synthesis.inputs.clone(), &synthesis.aux).unwrap(), witness);
    assert_eq!(witness.inputs, synthesis.inputs);
    assert_eq!(witness.unpack_aux(template).unwrap(), synthesis.aux);
    assert_eq!(witness.scalars.len(), template.n_scalars());

    for threads in [1, 3] {
        let written = in_pool(threads, || write_again(template, &witness, |_, values| values).unwrap());
        assert_eq!(written, witness, "{threads} threads");
    }

    assert_eq!(first_unsatisfied(template, &witness).unwrap(), None);
    for aux in [0, synthesis.aux.len() / 2, synthesis.aux.len().saturating_sub(1)] {
        let Some(value) = synthesis.aux.get(aux) else { continue };
        let mut false_aux = synthesis.aux.clone();
        false_aux[aux] = Fr::ONE - value;
        let [a, b, c] = [&system.a, &system.b, &system.c]
            .map(|matrix| system.multiply(matrix, &synthesis.inputs, &false_aux));
        let expected = (0..system.n_rows()).find(|&row| a[row] * b[row] != c[row]);
        let witness = PackedWitness::pack(template, synthesis.inputs.clone(), &false_aux).unwrap();
        for threads in [1, 3] {
            assert_eq!(in_pool(threads, || first_unsatisfied(template, &witness).unwrap()), expected);
        }
    }

    let mut bytes = vec![];
    template.write(&digest, &mut bytes).unwrap();
    let read = |parts| Template::read(&digest, parts, &mut &bytes[..]).unwrap();
    assert_eq!(&read(TemplateParts::All), template);
    let for_prover = read(TemplateParts::Prover);
    assert!(!for_prover.has_products());
    for template in [template, &for_prover] {
        for threads in [1, 2, 5] {
            let (a, b) = in_pool(threads, || evaluate_packed(template, &witness).unwrap());
            assert_eq!(a, synthesis.a);
            assert_eq!(b, synthesis.b);
            let (mut a, mut b) = (vec![Fr::from(7); 1000], vec![Fr::from(8); 3]);
            in_pool(threads, || evaluate_packed_into(template, &witness, &mut a, &mut b).unwrap());
            assert_eq!((a, b), (synthesis.a.clone(), synthesis.b.clone()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn random_repeating_circuits(toy in random_toy()) {
        let template = derive(toy.blank(), START).unwrap();
        prop_assert_eq!(template.instances(), toy.blocks.len());
        assert_template_stands_for(&template, &toy);

        let flat = derive_flat(toy.blank()).unwrap();
        prop_assert_eq!(flat.instances(), 0);
        assert_template_stands_for(&flat, &toy);

        if !toy.blocks.is_empty() && !toy.imports_move() {
            let whole = walk_witness(&template, toy.clone()).unwrap();
            for threads in [1, 2, 5] {
                let blocks = in_pool(threads, || walk_blocks(&template, |k| Ok::<_, Error>(toy.only(k)))).unwrap();
                prop_assert_eq!(&blocks, &whole);
            }
            if toy.blocks.len() >= 2 {
                // Two blocks tell of any number.
                let two = derive(Toy { blocks: toy.blocks[..2].to_vec(), ..toy.blank() }, START).unwrap();
                prop_assert_eq!(&two.with_instances(toy.blocks.len()).unwrap(), &template);
            }
        }
    }

    #[test]
    fn a_circuit_that_does_not_repeat_is_refused(toy in random_toy(), odd: prop::sample::Index) {
        prop_assume!(toy.blocks.len() >= 2);
        let odd = 1 + odd.index(toy.blocks.len() - 1);
        let broken = Toy { odd_block: Some(odd), ..toy };
        match derive(broken.blank(), START) {
            Err(Error::DoesNotRepeat { block, .. }) => prop_assert_eq!(block, odd),
            other => prop_assert!(false, "{:?}", other.map(|template| template.instances())),
        }
        assert_template_stands_for(&derive_flat(broken.blank()).unwrap(), &broken);
    }
}

#[test]
fn templates_extend_only_where_they_were_seen_to_repeat() {
    let refused = |toy: &Toy, instances| match derive(toy.blank(), START).unwrap().with_instances(instances) {
        Err(Error::CannotExtend { recorded, why, .. }) => (recorded, why),
        other => panic!("{:?}", other.map(|template| template.instances())),
    };
    let toy = Toy::example(3);
    assert_eq!(derive(toy.blank(), START).unwrap().with_instances(50).unwrap().instances(), 50);
    assert_eq!(refused(&Toy::example(1), 2), (1, "fewer than two blocks were compared"));
    let moving = Toy::example(3).with_moving_imports();
    let why = "its instances refer to different header variables";
    assert_eq!(refused(&moving, 4), (3, why));
    assert_eq!(derive(moving.blank(), START).unwrap().with_instances(3).unwrap().instances(), 3);
}

#[test]
fn a_circuit_that_fails_says_so_itself() {
    struct Fails;
    impl Circuit<Fr> for Fails {
        fn synthesize<CS: ConstraintSystem<Fr>>(self, cs: &mut CS) -> Result<(), cuzk_r1cs::SynthesisError> {
            for block in 0..2 {
                let cs = &mut cs.namespace(|| format!("block {block}"));
                cs.alloc(|| "one", || Ok(Fr::ONE))?;
            }
            cs.alloc(|| "odd", || Ok(Fr::ONE))?;
            Err(cuzk_r1cs::SynthesisError::DivisionByZero)
        }
    }
    let failed = derive(Fails, START).map(|template| template.instances());
    assert!(matches!(failed, Err(Error::Synthesis(cuzk_r1cs::SynthesisError::DivisionByZero))), "{failed:?}");
}

#[test]
fn gates_give_bits_and_sums_of_bits_do_not() {
    let gates = Gates { inputs: [true, false, true], lie: None };
    let template = derive(gates.blank(), START).unwrap();
    let expected: Vec<bool> = Gates::NAMES.iter().map(|name| !name.starts_with("no bit")).collect();
    let block: Bitmap = expected.iter().copied().collect();
    assert_eq!(template.block().bits(), &block);
    // For every assignment of the bits, the packed walk accepts what the gates compute.
    for assignment in 0..8 {
        let inputs = [0, 1, 2].map(|bit| assignment >> bit & 1 == 1);
        let gates = Gates { inputs, lie: None };
        let synthesis = evaluate(gates.clone()).unwrap();
        let witness = walk_witness(&template, gates.clone()).unwrap();
        assert_eq!(witness.unpack_aux(&template).unwrap(), synthesis.aux);
        assert_eq!(evaluate_packed(&template, &witness).unwrap(), (synthesis.a, synthesis.b));
        assert_eq!(cuzk_r1cs::check(gates).unwrap().unsatisfied, None);
    }
}

#[test]
fn a_value_that_is_no_bit_is_refused_by_name() {
    let honest = Gates { inputs: [true, true, false], lie: None };
    let template = derive(honest.blank(), START).unwrap();
    let honest = evaluate(honest).unwrap();
    let mut n_unsatisfied = 0;
    for (index, name) in Gates::NAMES.iter().enumerate() {
        for block in 0..2 {
            let liar = Gates { inputs: [true, true, false], lie: Some((block, index)) };
            let whole = walk_witness(&template, liar.clone());
            let blocks = walk_blocks(&template, |k| Ok::<_, Error>(liar.only(k)));
            let number = block * Gates::NAMES.len() + index;
            let mut aux = honest.aux.clone();
            aux[number] = Fr::from(2);
            let packed = PackedWitness::pack(&template, honest.inputs.clone(), &aux);
            if name.starts_with("no bit") {
                let whole = whole.unwrap();
                assert_eq!(whole.unpack_aux(&template).unwrap()[number], Fr::from(2));
                assert!(blocks.is_ok() && packed.is_ok());
                let unsatisfied = cuzk_r1cs::check(liar.clone()).unwrap().unsatisfied;
                let row = unsatisfied.as_ref().map(|unsatisfied| unsatisfied.row);
                assert_eq!(first_unsatisfied(&template, &whole).unwrap(), row);
                if let Some(unsatisfied) = unsatisfied {
                    n_unsatisfied += 1;
                    let path = row_path(liar.blank(), unsatisfied.row).unwrap();
                    assert_eq!(path, Some(unsatisfied.path));
                }
                continue;
            }
            for (refused, expected_name) in [(whole, *name), (blocks, *name), (packed, "")] {
                match refused {
                    Err(Error::NotABit { aux, name, place }) => {
                        assert_eq!(
                            (aux, name.as_str(), place),
                            (number, expected_name, format!("block {block}"))
                        );
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(n_unsatisfied > 0);
}

#[test]
fn witnesses_of_other_circuits_are_refused() {
    let template = derive(Toy::example(3).blank(), START).unwrap();
    for other in [2, 4] {
        let refused = walk_witness(&template, Toy::example(other));
        assert!(matches!(refused, Err(Error::OtherShape { .. })), "{refused:?}");
        let witness = walk_witness(&derive(Toy::example(other).blank(), START).unwrap(), Toy::example(other));
        let refused = evaluate_packed(&template, &witness.unwrap());
        assert!(matches!(refused, Err(Error::OtherShape { .. })), "{refused:?}");
    }
    // Blocks of two statements do not make one.
    let (one, other) = (Toy::example(3), Toy { seed: 99, ..Toy::example(3) });
    let mixed = walk_blocks(&template, |k| Ok::<_, Error>(if k == 2 { other.only(k) } else { one.only(k) }));
    assert!(matches!(mixed, Err(Error::OtherHeader { block: 2 })), "{mixed:?}");
}

#[test]
fn foreign_stale_and_damaged_files_are_refused() {
    let toy = Toy::example(2);
    let template = derive(toy.blank(), START).unwrap();
    let digest = template.circuit_digest().unwrap();
    let mut bytes = vec![];
    template.write(&digest, &mut bytes).unwrap();
    let problem =
        |digest: &CircuitDigest, parts, bytes: &[u8]| match Template::read(digest, parts, &mut &bytes[..]) {
            Err(Error::BadTemplate { problem }) => problem,
            other => panic!("{:?}", other.map(|template| template.instances())),
        };
    let changed = |position: usize| {
        let mut bytes = bytes.clone();
        bytes[position] ^= 1;
        bytes
    };
    let all = TemplateParts::All;
    assert_eq!(problem(&digest, all, &bytes[..100]), "it is shorter than the head of a template");
    assert_eq!(problem(&digest, all, &changed(3)), "it is no template of this program");
    assert_eq!(problem(&digest, all, &changed(16)), "it is of another version");
    assert_eq!(problem(&CircuitDigest([7; 32]), all, &bytes), "it is of another circuit");
    assert_eq!(problem(&digest, all, &bytes[..bytes.len() - 1]), "it ends early");
    assert_eq!(problem(&digest, all, &changed(bytes.len() - 1)), "it is damaged");
    assert_eq!(problem(&digest, TemplateParts::Prover, &changed(200)), "it is damaged");
    // C lies apart: who does not read it does not notice.
    let without_c =
        Template::read(&digest, TemplateParts::Prover, &mut &changed(bytes.len() - 1)[..]).unwrap();
    assert!(without_c.write(&digest, &mut vec![]).is_err());
    assert!(without_c.to_matrices().is_err());
    assert!(without_c.circuit_digest().is_err());
    let witness = walk_witness(&template, toy.clone()).unwrap();
    assert!(first_unsatisfied(&without_c, &witness).is_err());
    assert_eq!(row_path(toy.blank(), 1 << 20).unwrap(), None);
}

#[test]
fn the_digest_is_the_documented_one() {
    use sha2::Digest as _;
    let gates = Gates { inputs: [true; 3], lie: None };
    let system = record(gates.blank()).unwrap();
    let mut bytes = b"cuzk r1cs 1\n".to_vec();
    let mut seen = vec![Fr::ONE, -Fr::ONE];
    let own_rows = system.n_rows() - system.n_inputs;
    for row in 0..own_rows {
        for matrix in [&system.a, &system.b, &system.c] {
            bytes.extend((matrix.row(row).len() as u32).to_le_bytes());
            for term in matrix.row(row) {
                let column = term.variable.column(system.n_inputs) as u32;
                let inputs = system.n_inputs as u32;
                let variable = if column < inputs { column | 1 << 31 } else { column - inputs };
                bytes.extend(variable.to_le_bytes());
                let coefficient = system.coefficients[term.coefficient as usize];
                let known = seen.iter().position(|seen| *seen == coefficient);
                bytes.extend((known.unwrap_or(seen.len()) as u32).to_le_bytes());
                if known.is_none() {
                    bytes.extend(coefficient.to_bytes_le());
                    seen.push(coefficient);
                }
            }
        }
    }
    for count in [own_rows, system.n_inputs, system.n_aux] {
        bytes.extend((count as u64).to_le_bytes());
    }
    let expected = CircuitDigest(sha2::Sha256::digest(&bytes).into());
    assert_eq!(circuit_digest(gates.blank()).unwrap(), expected);
    assert_eq!(expected.to_string().len(), 64);
}
